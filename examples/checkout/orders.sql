-- What the shop's checkout leaves behind: one order, paid, of 29.00.
CREATE TABLE orders (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  total    REAL NOT NULL,
  paid     INTEGER NOT NULL
);
INSERT INTO orders (id, customer, total, paid) VALUES (1, 'Ada', 29.00, 1);
