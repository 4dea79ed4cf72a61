"""Arrays of any library: what a launch needs of them, the streams they are on, and device arrays of our own."""
