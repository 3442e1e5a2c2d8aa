#include "core/text/answer_json.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {
namespace {

Json notes_of(const std::vector<Note>& notes) {
  Json list = Json::array();
  for (const Note& n : notes) list.push_back(write_note(n));
  return list;
}

}  // namespace

Json write_export(const Export& exported, Trainer trainer) {
  Json j = Json::object();
  put(j, "schema", "wireplan.export/1");
  put(j, "trainer", name_of(trainer));
  Json files = Json::array(), cannot = Json::array();
  for (const ExportedFile& f : exported.files) {
    Json file = Json::object();
    put(file, "name", f.name);
    put(file, "text", f.text);
    files.push_back(std::move(file));
  }
  for (const Inexpressible& i : exported.inexpressible) {
    Json one = Json::object();
    put(one, "path", i.path);
    put(one, "value", i.value);
    put(one, "text", i.text);
    cannot.push_back(std::move(one));
  }
  put(j, "files", std::move(files));
  put(j, "inexpressible", std::move(cannot));
  put(j, "notes", notes_of(exported.notes));
  return j;
}

Json write_imported(const ImportedTrainer& imported) {
  Json j = Json::object();
  put(j, "schema", "wireplan.import/1");
  put(j, "trainer", name_of(imported.trainer));
  put(j, "plan", imported.plan);
  Json fields = Json::array(), unread = Json::array(), missing = Json::array();
  for (const ReadField& f : imported.fields) {
    Json one = Json::object();
    put(one, "path", f.path);
    put(one, "value", f.value);
    put(one, "from", f.from);
    fields.push_back(std::move(one));
  }
  for (const UnreadKey& u : imported.unread) {
    Json one = Json::object();
    put(one, "key", u.key);
    put(one, "value", u.value);
    put(one, "effect", name_of(u.effect));
    put(one, "text", u.text);
    unread.push_back(std::move(one));
  }
  for (const std::string& path : imported.missing) missing.push_back(path);
  put(j, "fields", std::move(fields));
  put(j, "unread", std::move(unread));
  put(j, "missing", std::move(missing));
  put(j, "notes", notes_of(imported.notes));
  return j;
}

}  // namespace wireplan
