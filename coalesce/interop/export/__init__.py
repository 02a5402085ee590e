"""Other formats' metadata over the table's own data files, for engines that do not read ours."""
