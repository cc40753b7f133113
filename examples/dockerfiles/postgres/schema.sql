CREATE TABLE city (name text PRIMARY KEY, people integer NOT NULL CHECK (people > 0));
INSERT INTO city VALUES ('Bergen', 291940), ('Oslo', 717710), ('Tromsø', 78745);
