/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"
#include "store/invitations.h"
#include "store/keys.h"
#include "store/logins.h"
#include "store/members.h"
#include "store/organizations.h"

static struct user_record sample_user(const char *id, const char *email)
{
	return (struct user_record){.id = id,
	                            .email = email,
	                            .name = "Somebody",
	                            .password = "$argon2id$",
	                            .created_at = NOW,
	                            .updated_at = NOW};
}

static struct login_record sample_login(const char *id, unsigned char first, const char *owner)
{
	struct login_record r = {.id = id,
	                         .kind = LOGIN_USER,
	                         .owner_id = owner,
	                         .address = "10.0.0.1",
	                         .user_agent = "curl",
	                         .created_at = NOW,
	                         .last_used_at = NOW,
	                         .expires_at = NOW + 1000};

	memset(r.hash, first, sizeof(r.hash));
	return r;
}

static struct invitation_record sample_invitation(const char *id, unsigned char first,
                                                  const char *email, const char *role)
{
	struct invitation_record r = {.id = id,
	                              .kind = INVITATION_JOIN,
	                              .project_id = PROJECT,
	                              .email = email,
	                              .role = role,
	                              .invited_by = "u",
	                              .created_at = NOW,
	                              .expires_at = NOW + 1000};

	memset(r.hash, first, sizeof(r.hash));
	return r;
}

static struct invitation_record sample_setup(const char *id, unsigned char first)
{
	struct invitation_record r = sample_invitation(id, first, "", "");

	r.kind = INVITATION_SETUP;
	r.project_id = "";
	return r;
}

static int change(struct user_record *r, const void *context, UNUSED struct error *err)
{
	const struct user_record *wanted = context;

	r->is_admin = wanted->is_admin;
	r->disabled_at = wanted->disabled_at;
	r->password = wanted->password;
	return 0;
}

static void a_user_is_found_by_id_address_and_subject(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct user_record ann = sample_user("u1", "ann@example.com"), found;
	struct error err = {0};
	struct user_list list;
	int64_t count;

	ann.issuer = "https://issuer";
	ann.subject = "s-1";
	assert_done(store_user_insert(*state, &ann, &err));
	assert_refused(store_user_insert(*state, &ann, &err), ERROR_CONFLICT);
	assert_done(store_user_find(*state, &a, "u1", &found, &err));
	assert_string_equal(found.email, "ann@example.com");
	assert_done(store_user_find_by_email(*state, &a, "ann@example.com", &found, &err));
	assert_done(store_user_find_by_subject(*state, &a, "https://issuer", "s-1", &found, &err));
	assert_refused(store_user_find_by_subject(*state, &a, "", "", &found, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_user_find(*state, &a, "u2", &found, &err), ERROR_NOT_FOUND);
	assert_done(store_user_count(*state, &count, &err));
	assert_int_equal(count, 1);
	assert_done(store_user_list(*state, &a, &(struct user_page){"", 10}, &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_user_list(*state, &a, &(struct user_page){"ann@example.com", 10}, &list,
	                            &err));
	assert_int_equal(list.count, 0);
}

static void the_last_admin_of_the_server_stays(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct user_record ann = sample_user("u1", "ann@example.com"),
	                   bob = sample_user("u2", "bob@example.com"), found;
	const struct user_record disabled = {.is_admin = true, .disabled_at = NOW, .password = ""},
	                         demoted = {.password = ""};
	struct user_edit edit = {.id = "u1", .edit = change, .context = &disabled};
	struct error err = {0};

	ann.is_admin = true;
	ann.last_used_at = NOW;
	assert_done(store_user_insert(*state, &ann, &err));
	assert_done(store_user_insert(*state, &bob, &err));
	assert_refused(store_user_edit(*state, &a, &edit, &found, &err), ERROR_CONFLICT);
	edit.context = &demoted;
	assert_refused(store_user_edit(*state, &a, &edit, &found, &err), ERROR_CONFLICT);
	assert_refused(store_user_remove(*state, "u1", NOW, &err), ERROR_CONFLICT);
	assert_done(store_user_find(*state, &a, "u1", &found, &err));
	assert_true(found.is_admin && !found.disabled_at);
	assert_done(store_user_remove(*state, "u2", NOW, &err));
}

static void a_removed_user_leaves_projects_keys_and_logins(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct user_record bob = sample_user("u2", "bob@example.com");
	const struct member_record ann = {.project_id = PROJECT, .user_id = "ann", .role = "admin"},
	                           member = {.project_id = PROJECT,
	                                     .user_id = "bob@example.com",
	                                     .role = "member"};
	struct key_record key = {.id = "k1",
	                         .project_id = PROJECT,
	                         .name = "bobs",
	                         .user_id = "bob@example.com",
	                         .prefix = "atoll_aaaaaa",
	                         .created_at = NOW};
	struct login_record login = sample_login("l1", 1, "u2"), found;
	struct membership_list projects;
	struct membership_lookup lookup = {.email = "bob@example.com", .limit = 10};
	struct error err = {0};

	assert_done(store_user_insert(*state, &bob, &err));
	assert_done(store_member_insert(*state, &ann, &err));
	assert_done(store_member_insert(*state, &member, &err));
	assert_done(store_key_insert(*state, &key, &err));
	assert_done(store_login_insert(*state, &login, NULL, &err));
	assert_done(store_memberships(*state, &a, &lookup, &projects, &err));
	assert_int_equal(projects.count, 1);
	assert_string_equal(projects.items[0].role, "member");
	assert_done(store_user_remove(*state, "u2", NOW, &err));
	assert_done(store_memberships(*state, &a, &lookup, &projects, &err));
	assert_int_equal(projects.count, 0);
	assert_refused(store_login_find(*state, &a, login.hash, &found, &err), ERROR_NOT_FOUND);
	assert_done(store_key_find(*state, &a, PROJECT, "k1", &key, &err));
	assert_int_equal(key.revoked_at, NOW);
	/* An admin of the server sees the project without being a member. */
	lookup.is_admin = true;
	assert_done(store_memberships(*state, &a, &lookup, &projects, &err));
	assert_true(projects.count >= 1);
	assert_string_equal(projects.items[0].role, "");
	lookup.project_id = "none";
	assert_done(store_memberships(*state, &a, &lookup, &projects, &err));
	assert_int_equal(projects.count, 0);
}

static void a_login_replaces_another_and_the_oldest_go(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct login_record first = sample_login("l000", 1, "u1"),
	                    next = sample_login("l001", 2, "u1"),
	                    other = sample_login("l002", 3, "u2"), found;
	struct error err = {0};
	struct login_list list;
	char id[16];

	assert_done(store_login_insert(*state, &first, NULL, &err));
	assert_done(store_login_insert(*state, &other, NULL, &err));
	assert_done(store_login_insert(*state, &next, first.hash, &err));
	assert_refused(store_login_find(*state, &a, first.hash, &found, &err), ERROR_NOT_FOUND);
	for (int i = 0; i < STORE_LOGINS_MAX; i++) {
		struct login_record more;

		snprintf(id, sizeof(id), "m%03d", i);
		more = sample_login(id, (unsigned char)(10 + i), "u1");
		more.created_at = NOW + 1 + i;
		more.expires_at = NOW + 10000;
		assert_done(store_login_insert(*state, &more, NULL, &err));
	}
	assert_refused(store_login_find(*state, &a, next.hash, &found, &err), ERROR_NOT_FOUND);
	assert_done(store_login_list(*state, &a, "u1", &list, &err));
	assert_int_equal(list.count, STORE_LOGINS_MAX);
	assert_string_equal(list.items[0].id, id);
	assert_done(store_login_find(*state, &a, other.hash, &found, &err));
	assert_refused(store_login_end(*state, "u1", "l002", &err), ERROR_NOT_FOUND);
	assert_done(store_login_end(*state, "u2", "l002", &err));
	store_login_touch(*state, list.items[0].id, NOW + 77000);
	assert_done(store_login_list(*state, &a, "u1", &list, &err));
	assert_int_equal(list.items[0].last_used_at, NOW + 77000);
	assert_done(store_tidy(*state, &err));
	assert_done(store_login_list(*state, &a, "u1", &list, &err));
	assert_int_equal(list.items[0].last_used_at, NOW + 77000);
	assert_done(store_login_end_all(*state, "u1", &err));
	assert_done(store_login_list(*state, &a, "u1", &list, &err));
	assert_int_equal(list.count, 0);
}

static void a_new_password_ends_the_other_logins(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct user_record ann = sample_user("u1", "ann@example.com"), found;
	struct login_record kept = sample_login("l1", 1, "u1"), gone = sample_login("l2", 2, "u1"),
	                    login;
	const struct user_record changed = {.password = "new"};
	const struct user_edit edit = {
	        .id = "u1", .edit = change, .context = &changed, .ends_logins_but = "l1"};
	struct error err = {0};

	assert_done(store_user_insert(*state, &ann, &err));
	assert_done(store_login_insert(*state, &kept, NULL, &err));
	assert_done(store_login_insert(*state, &gone, NULL, &err));
	assert_done(store_user_edit(*state, &a, &edit, &found, &err));
	assert_string_equal(found.password, "new");
	assert_done(store_login_find(*state, &a, kept.hash, &login, &err));
	assert_refused(store_login_find(*state, &a, gone.hash, &login, &err), ERROR_NOT_FOUND);
}

static void a_setup_link_makes_one_user_and_no_second(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct invitation_record first = sample_setup("i1", 1),
	                               second = sample_setup("i2", 2);
	struct user_record ann = sample_user("u1", "ann@example.com"),
	                   eve = sample_user("u2", "eve@example.com");
	struct invitation_acceptance accept = {.invitation = &first,
	                                       .user = &ann,
	                                       .is_new = true,
	                                       .project_id = PROJECT,
	                                       .now = NOW};
	struct member_record member;
	struct error err = {0};
	int64_t count;

	assert_done(store_invitation_insert(*state, &first, &err));
	assert_done(store_invitation_insert(*state, &second, &err));
	assert_done(store_invitation_accept(*state, &accept, &err));
	assert_refused(store_invitation_accept(*state, &accept, &err), ERROR_NOT_FOUND);
	accept.invitation = &second;
	accept.user = &eve;
	assert_refused(store_invitation_accept(*state, &accept, &err), ERROR_NOT_FOUND);
	assert_refused(store_invitation_insert(*state, &second, &err), ERROR_CONFLICT);
	assert_done(store_user_count(*state, &count, &err));
	assert_int_equal(count, 1);
	assert_done(store_member_find(*state, &a, PROJECT, "ann@example.com", &member, &err));
	assert_string_equal(member.role, "admin");
}

static void an_invitation_is_used_once_and_in_time(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct invitation_record ann = sample_invitation("i1", 1, "ann@example.com", "admin"),
	                               bob = sample_invitation("i2", 2, "bob@example.com",
	                                                       "member"),
	                               anew = sample_invitation("i3", 3, "bob@example.com",
	                                                        "viewer");
	struct user_record user = sample_user("u1", "ann@example.com"),
	                   next = sample_user("u2", "bob@example.com");
	struct invitation_acceptance accept = {
	        .invitation = &ann, .user = &user, .is_new = true, .now = NOW + 999};
	struct invitation_record found;
	struct invitation_list list;
	struct member_record member;
	struct error err = {0};

	/* The first member is an admin. */
	assert_refused(store_invitation_insert(*state, &bob, &err), ERROR_CONFLICT);
	assert_done(store_invitation_insert(*state, &ann, &err));
	accept.now = NOW + 1000;
	assert_refused(store_invitation_find(*state, &a, ann.hash, NOW + 1000, &found, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_invitation_accept(*state, &accept, &err), ERROR_NOT_FOUND);
	accept.now = NOW + 999;
	assert_done(store_invitation_find(*state, &a, ann.hash, NOW + 999, &found, &err));
	assert_string_equal(found.email, "ann@example.com");
	assert_done(store_invitation_accept(*state, &accept, &err));
	assert_refused(store_invitation_accept(*state, &accept, &err), ERROR_NOT_FOUND);
	assert_refused(store_invitation_insert(*state, &ann, &err), ERROR_CONFLICT);
	/* A second invitation of an address replaces the first. */
	assert_done(store_invitation_insert(*state, &bob, &err));
	assert_done(store_invitation_insert(*state, &anew, &err));
	assert_done(store_invitation_list(*state, &a, PROJECT, NOW, &list, &err));
	assert_int_equal(list.count, 1);
	assert_refused(store_invitation_find(*state, &a, bob.hash, NOW, &found, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_invitation_remove(*state, "other", "i3", &err), ERROR_NOT_FOUND);
	accept.invitation = &anew;
	accept.user = &next;
	assert_done(store_invitation_accept(*state, &accept, &err));
	assert_done(store_member_find(*state, &a, PROJECT, "bob@example.com", &member, &err));
	assert_string_equal(member.role, "viewer");
	assert_refused(store_invitation_remove(*state, PROJECT, "i3", &err), ERROR_NOT_FOUND);
}

static void attempts_count_in_their_window(void **state)
{
	struct attempt_limit limit = {
	        .id = "address 10.0.0.1", .max = 2, .window_ms = 1000, .now = NOW};
	struct error err = {0};

	assert_done(store_attempt_count(*state, &limit, &err));
	assert_done(store_attempt_count(*state, &limit, &err));
	limit.now = NOW + 1;
	assert_refused(store_attempt_count(*state, &limit, &err), ERROR_LIMIT);
	assert_int_equal(err.retry_after_s, 1);
	assert_done(store_attempt_forgive(*state, limit.id, false, &err));
	assert_done(store_attempt_count(*state, &limit, &err));
	assert_refused(store_attempt_count(*state, &limit, &err), ERROR_LIMIT);
	assert_done(store_attempt_forgive(*state, limit.id, true, &err));
	assert_done(store_attempt_count(*state, &limit, &err));
	assert_done(store_attempt_count(*state, &limit, &err));
	/* The window passes, and a clock that was set back locks out for no longer. */
	limit.now = NOW + 1001;
	assert_done(store_attempt_count(*state, &limit, &err));
	assert_done(store_attempt_count(*state, &limit, &err));
	limit.now = NOW - 5000;
	assert_done(store_attempt_count(*state, &limit, &err));
}

static void an_organization_is_above_its_projects(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct organization_record acme = {.id = "o1", .name = "acme", .created_at = NOW},
	                                 twice = {.id = "o2", .name = "acme"};
	const struct project_record project = {.id = "p9",
	                                       .name = "below",
	                                       .organization_id = "o1",
	                                       .created_at = NOW},
	                            lost = {.id = "p8", .name = "lost", .organization_id = "none"};
	struct organization_member admin = {.organization_id = "o1",
	                                    .user_id = "bob@example.com",
	                                    .role = "admin"},
	                           owner = {.organization_id = "o1",
	                                    .user_id = "ann@example.com",
	                                    .role = "member"},
	                           found;
	const struct membership_lookup lookup = {.email = "bob@example.com", .limit = 10};
	struct organization_member_list members;
	struct organization_list list;
	struct membership_list projects;
	struct project_record read;
	struct error err = {0};

	assert_done(store_organization_insert(*state, &acme, "ann@example.com", &err));
	assert_refused(store_organization_insert(*state, &twice, "ann@example.com", &err),
	               ERROR_CONFLICT);
	assert_done(store_project_insert(*state, &project, &err));
	assert_refused(store_project_insert(*state, &lost, &err), ERROR_NOT_FOUND);
	assert_done(store_project_find(*state, &a, "p9", &read, &err));
	assert_string_equal(read.organization_id, "o1");
	assert_done(store_project_find(*state, &a, PROJECT, &read, &err));
	assert_string_equal(read.organization_id, STORE_ORGANIZATION_FIRST);
	assert_done(store_project_find_named(*state, &a, "below", &read, &err));
	assert_string_equal(read.id, "p9");
	assert_done(store_memberships(*state, &a, &lookup, &projects, &err));
	assert_int_equal(projects.count, 0);
	assert_done(store_organization_member_put(*state, &admin, &err));
	assert_done(store_memberships(*state, &a, &lookup, &projects, &err));
	assert_int_equal(projects.count, 1);
	assert_string_equal(projects.items[0].role, "admin");
	admin.role = "member";
	assert_done(store_organization_member_put(*state, &admin, &err));
	assert_done(store_memberships(*state, &a, &lookup, &projects, &err));
	assert_int_equal(projects.count, 0);
	assert_refused(store_organization_member_put(*state, &owner, &err), ERROR_CONFLICT);
	assert_refused(store_organization_member_remove(*state, &owner, &err), ERROR_CONFLICT);
	assert_done(
	        store_organization_member_find(*state, &a, "o1", "ann@example.com", &found, &err));
	assert_string_equal(found.role, "owner");
	assert_done(store_organization_member_list(*state, &a, "o1", &members, &err));
	assert_int_equal(members.count, 2);
	assert_done(store_organization_list(*state, &a, "bob@example.com", &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_organization_list(*state, &a, NULL, &list, &err));
	assert_int_equal(list.count, 2);
	assert_refused(store_organization_remove(*state, "o1", &err), ERROR_CONFLICT);
	assert_refused(store_organization_remove(*state, STORE_ORGANIZATION_FIRST, &err),
	               ERROR_CONFLICT);
	assert_done(store_organization_member_remove(*state, &admin, &err));
	assert_refused(store_organization_member_remove(*state, &admin, &err), ERROR_NOT_FOUND);
}

static const struct CMUnitTest tests[] = {
        EACH(a_user_is_found_by_id_address_and_subject),
        EACH(the_last_admin_of_the_server_stays),
        EACH(a_removed_user_leaves_projects_keys_and_logins),
        EACH(a_login_replaces_another_and_the_oldest_go),
        EACH(a_new_password_ends_the_other_logins),
        EACH(a_setup_link_makes_one_user_and_no_second),
        EACH(an_invitation_is_used_once_and_in_time),
        EACH(attempts_count_in_their_window),
        EACH(an_organization_is_above_its_projects),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
