/* What the frame around the canvas calls; web/README.md says what each means. Strings are UTF-8; a returned pointer stays
   valid until the next call of the same function. */
#pragma once

extern "C" {

[[gnu::used]] int page_start(const char* link);
[[gnu::used]] int page_open(const char* link);
[[gnu::used]] const char* page_state();
[[gnu::used]] const char* page_form();
[[gnu::used]] const char* page_scenarios();
[[gnu::used]] const char* page_explain(const char* path);
[[gnu::used]] const char* page_alternatives();
[[gnu::used]] const char* page_words();
[[gnu::used]] void page_edit(const char* path, const char* value);
[[gnu::used]] const char* page_adopt(const char* kind, const char* json);
[[gnu::used]] int page_nccl(const char* request, const char* answer);
[[gnu::used]] void page_undo();
[[gnu::used]] void page_redo();
[[gnu::used]] void page_reset();
[[gnu::used]] void page_view(const char* key, const char* value);
[[gnu::used]] const char* page_export(const char* format);
[[gnu::used]] const char* page_rect(const char* key);
[[gnu::used]] const char* page_keys();
[[gnu::used]] int page_frames();
[[gnu::used]] void page_wake(int frames);
[[gnu::used]] void page_resize(int css_width, int css_height);
[[gnu::used]] int page_wanted_height(int css_width);
[[gnu::used]] const unsigned char* page_font(int index);
[[gnu::used]] int page_font_size(int index);
[[gnu::used]] void page_restored();
}
