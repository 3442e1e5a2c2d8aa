"""wireplan measure and validate on wires whose speed is known: hosts as network namespaces, shaped."""

import json

import pytest

import namespaces
import ranks

QUICK = ("--backend", "mpi", "--place", "out", "-c", "0", "-w", "1", "--json")


@pytest.fixture(autouse=True)
def possible(wireplan):
    ranks.need_mpi(wireplan)
    if why := namespaces.missing():
        pytest.skip(why)


def cluster(tmp_path, mbit, per_host=1, hosts=4):
    path = tmp_path / f"hosts-{mbit}-{per_host}.json"
    path.write_text(json.dumps({"node": "dgx-a100-80gb", "nodes": hosts, "gpus_per_node": per_host, "network": {"fabric": "ethernet", "nics_per_node": 1, "nic_bytes_per_s": mbit * 1e6 / 8}}))
    return str(path)


def measured(wireplan, hosts, *arguments):
    done = hosts.mpirun([wireplan.path, "measure", *QUICK, *arguments])
    assert done.returncode in (0, 1), done.err
    return json.loads(done.out), done.err


def test_the_fit_is_the_wire_s_rate_and_moves_with_it(wireplan, tmp_path):
    rates = {}
    with namespaces.Hosts(["100mbit"] * 4) as hosts:
        for mbit in (100, 300):
            for i in range(4):
                hosts.shape(i, f"{mbit}mbit")
            run, _ = measured(wireplan, hosts, "-b", "1M", "-e", "4M", "-n", "3")
            assert len(set(run["environment"]["hosts"])) == 4
            report = json.loads(wireplan("validate", "-", "--cluster", cluster(tmp_path, mbit), "--json", text=json.dumps(run)).out)
            (fit,) = report["fit"]
            assert (fit["op"], fit["ranks"], fit["nodes"]) == ("all_reduce", 4, 4)
            rates[mbit] = fit["bytes_per_s"] / (mbit * 1e6 / 8)
            # What a slow wire takes was predicted from its rate alone, on constants of GPU machines.
            assert all(abs(row["error"]) < 0.35 for row in report["rows"]), report["rows"]
    assert all(0.8 <= share <= 1.0 for share in rates.values()), rates
    assert rates[300] / rates[100] == pytest.approx(1, abs=0.15), rates


def test_the_slow_wire_is_named(wireplan):
    with namespaces.Hosts(["300mbit", "300mbit", "60mbit", "300mbit"]) as hosts:
        run, said = measured(wireplan, hosts, "--pairs", "-b", "1M", "-e", "1M", "-n", "3")
        assert f"all slow pairs have rank 2 ({hosts.host(2)}) in common: its link is slow" in said
    by_pair = {tuple(row["ranks"]): row["bus_bandwidth_bytes_per_s"] for row in run["rows"]}
    assert len(by_pair) == 6
    assert max(rate for pair, rate in by_pair.items() if 2 in pair) < 0.5 * min(rate for pair, rate in by_pair.items() if 2 not in pair)


def test_two_groups_share_the_wires_as_predicted(wireplan, tmp_path):
    with namespaces.Hosts(["200mbit"] * 4, slots=2) as hosts:
        arguments = ("--cluster", cluster(tmp_path, 200, per_host=2), "-b", "2M", "-e", "2M", "-n", "5")
        alone, _ = measured(wireplan, hosts, "--group", "0,2,4,6", *arguments)
        both, _ = measured(wireplan, hosts, "--groups", "dp=4", *arguments)
    assert [row["ranks"] for row in both["rows"]] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    (one,) = alone["rows"]
    for row in both["rows"]:
        slower = row["time_s"]["median"] / one["time_s"]["median"]
        predicted = row["predicted_s"] / one["predicted_s"]
        assert predicted == pytest.approx(2, abs=0.2) and slower == pytest.approx(predicted, rel=0.2), (slower, predicted)
