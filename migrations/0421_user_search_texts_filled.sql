-- The search texts of those who were there before 0420. Whoever is deleted meanwhile is passed over, whoever is changed has the newer text.
-- phase: expand
-- locks: none
insert into user_search_texts select environment_id, id, user_search_text(users) from users for key share on conflict do nothing;
