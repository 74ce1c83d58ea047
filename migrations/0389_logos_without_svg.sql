-- phase: expand
-- Logos are PNG, JPEG or WebP: stored SVG images go, and a branding that names one shows its name.
-- locks: logos access exclusive, reads its rows
delete from logos where content_type = 'image/svg+xml';
alter table logos drop constraint logos_content_type_check;
alter table logos add constraint logos_content_type_check check (content_type in ('image/png', 'image/jpeg', 'image/webp'));
