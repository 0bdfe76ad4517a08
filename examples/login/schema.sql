CREATE TABLE accounts (
    name TEXT PRIMARY KEY,
    password TEXT NOT NULL,
    scope TEXT NOT NULL
);
