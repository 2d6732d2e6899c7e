"""`tigris hil monitor`: `decoder` separates text and frames, `wording` describes frames, `tap` shares the line."""
