//! Supervised actors on actix: bounded mailboxes, typed exits, restart budgets, quarantine, drain.
