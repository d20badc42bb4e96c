// The address of a run that has no page any more leads to its row in the list of the device's runs.
"use strict";

const run = /^(.*\/d\/[^/]+\/)(?!runs\/)([\w-]+(?:\/attempt-\d+)?)\/(?:index\.html)?$/.exec(location.pathname);
if (run) {
  location.replace(`${run[1]}runs/index.html#${run[2]}`);
}
