-- The clock that all nodes share. The argument is the clock of the process, which SQLite uses instead.
CREATE OR REPLACE FUNCTION shared_clock(process_ms BIGINT) RETURNS BIGINT LANGUAGE sql STABLE AS $$
      SELECT (EXTRACT(EPOCH FROM statement_timestamp()) * 1000)::bigint
    $$;
