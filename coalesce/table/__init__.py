"""Operations on a table, whatever engine reads and writes its rows."""
