-- Any part of an address or a name, by its trigrams. Users are made and renamed again once it is built; sign-ins don't wait.
-- phase: expand
-- locks: user_search_texts share, reads its rows
create index user_search_texts_trigrams on user_search_texts using gin (text gin_trgm_ops);
