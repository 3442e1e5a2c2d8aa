// The panels of the plan view. Each draws into its rectangle and returns the change that the reader asked for, if any;
// none computes, owns or remembers anything.
#pragma once

#include <vector>

#include "web/form.hpp"
#include "web/state.hpp"
#include "web/ui.hpp"

namespace wireplan {

// The inputs by section; `section` "" draws all of them in a column that scrolls.
Edit draw_inputs(Ui& ui, const AppState& state, const std::vector<Field>& form, const Rect& area,
                 std::string_view section = {});
// Names of the sections one below the other, where there is no room for the column.
Edit draw_input_strip(Ui& ui, const AppState& state, const Rect& area);

// "Will it fit?": a bar for every data sharding against the capacity, the parts of the chosen one, recipes.
Edit draw_memory(Ui& ui, const AppState& state, const Rect& area);
float memory_height(const AppState& state, float width, bool narrow);
// "When is it fullest?": what is allocated over one step, the peak of every phase, and what the card must hold for it.
Edit draw_moments(Ui& ui, const AppState& state, const Rect& area);
float moments_height(const AppState& state, bool narrow);
// What 8, 12 and 16 bytes a parameter stand for, with what each keeps of states on a GPU.
Edit draw_recipes(Ui& ui, const AppState& state, const Rect& area, bool narrow);
float recipes_height(const AppState& state, bool narrow);

// "Will the wiring keep up?": the node and the load of its links while the collective that is waited for most runs.
Edit draw_wiring(Ui& ui, const AppState& state, const Rect& area);
// The same step on other wirings of the same card.
Edit draw_wirings(Ui& ui, const AppState& state, const Rect& area);
float wirings_height(const AppState& state);

// "Where does the step go?": compute, waiting, bubble; what is hidden; the communication row by row.
Edit draw_step(Ui& ui, const AppState& state, const Rect& area);
float step_height(const AppState& state, bool narrow);

// "Time line of the step": what each stream does when, and where compute stands still.
Edit draw_timeline(Ui& ui, const AppState& state, const Rect& area);
float timeline_height(const AppState& state, bool narrow);
// "What the GPU waits for": the same, added up by reason.
Edit draw_waits(Ui& ui, const AppState& state, const Rect& area);
float waits_height(const AppState& state, bool narrow);
// "And on more GPUs?": tokens a second and GPU against their number.
Edit draw_scaling(Ui& ui, const AppState& state, const Rect& area);
float scaling_height(bool narrow);

// "Bus bandwidth against size": the collective that the wiring is drawn for, predicted, measured, as the plan sends it.
Edit draw_curves(Ui& ui, const AppState& state, const Rect& area);
float curves_height(const AppState& state, float width, bool narrow);

// Where the number in question comes from.
Edit draw_explanation(Ui& ui, const AppState& state, const Rect& area);

}  // namespace wireplan
