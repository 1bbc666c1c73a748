#ifndef NEWSWIRE_CYAMLLIMITS_SHIM_H
#define NEWSWIRE_CYAMLLIMITS_SHIM_H

/* libyaml is part of Yams, which does not export this function of it: the maximum number of lists and mappings that contain each other. */

void yaml_set_max_nest_level(int max);

#endif
