# A documentation as others have one: furo, reStructuredText beside MyST, the planner's site copied into it.
project = "A trainer"
extensions = ["myst_parser", "wireplan.sphinx"]
html_theme = "furo"
wireplan_unit = "GB"
wireplan_plans = {"ours": "plan.json"}
