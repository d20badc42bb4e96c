"""onboard: a first device file, the checks before a device is registered, and the changes of a proposal."""
