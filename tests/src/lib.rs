//! Black-box scenarios against the real binary, and the tidy checks of the workspace.
