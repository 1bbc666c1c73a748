/// A key of feed lists: its name for the reader, and its description in the reference in `docs/feed-lists.md`.
package struct FeedListKey: Sendable {
    package let name: String
    /// The allowed values, for people.
    package let value: String
    package let summary: String

    private init(_ name: String, _ value: String, _ summary: String) {
        self.name = name
        self.value = value
        self.summary = summary
    }

    /// Keys of a list itself.
    package static let list =
        [
            FeedListKey("category", "tag", "The tag that the list's messages go to. Required."),
            FeedListKey(
                "template",
                "text",
                "The text of a message, with terms such as `$(title)`. Default: `\(FeedList.standardTemplate)`."
            ),
            FeedListKey(
                "language",
                "name",
                "The list's main language. Also puts the text into the property `News_{name}`. Required where a feed names "
                    + "another."
            ),
            FeedListKey(
                "templates",
                "text for each language",
                "Texts of messages in other languages. Default: `template`."
            ),
            FeedListKey(
                "match",
                TranslationMatch.allCases.map(\.rawValue).joined(separator: " or "),
                "How a story is recognized in several languages: by its address without the language in it, or by an "
                    + "identifier that is the same in all feeds. Default: `link`."
            ),
            FeedListKey("every", "time", "The polling interval of feeds without their own."),
            FeedListKey("feeds", "list", "The feeds. Required; may be empty."),
        ] + rules + exchange

    /// Keys of one feed.
    package static let feed =
        [
            FeedListKey(
                "url",
                "address",
                "`https://` or `http://`, also with `feed:` in front or `feed://`; with `local`, also `file:///`. Required."
            ),
            FeedListKey("language", "name", "The language of its entries. Default: the list's `language`."),
            FeedListKey("title", "text", "The feed's name in messages. Default: its own title."),
            FeedListKey(
                "every",
                "time",
                "The polling interval, unless the feed asks for a longer one: `1m` to `7d`, with `local` from `1s`. "
                    + "Default: `\(PollInterval.standard)`."
            ),
            FeedListKey(
                "by-agreement",
                "true or false",
                "Uses `every`, whatever the feed and its server ask for, except `Retry-After`. For your own feeds, and where "
                    + "the publisher has agreed."
            ),
            FeedListKey(
                "local",
                "true or false",
                "Allows a file, or an address on this machine or its network. Redirects may lead to other ports of the "
                    + "same host; all others must lead to public addresses."
            ),
        ] + access + rules + exchange

    /// Keys that belong to this machine: they are neither exported nor imported.
    static let ofThisMachine = Set(["local"] + access.map(\.name))

    private static let access = [
        FeedListKey(
            "headers",
            "names with texts",
            "Headers of requests for the feed, in addition to newswire's own or instead of `Accept`. Secret ones belong "
                + "in `headers-file`."
        ),
        FeedListKey(
            "headers-file",
            "path",
            "A file with further headers, one `Name: value` a line, such as `Authorization: Bearer …`. It is read for "
                + "each request; only the publisher's user should be able to read it. A relative path begins at the "
                + "list's folder."
        ),
        FeedListKey("user-agent", "text", "The `User-Agent` instead of newswire's own, with its contact."),
        FeedListKey(
            "cookies",
            "true or false",
            "Sends cookies back that the server sets during redirects, and forgets them after the answer."
        ),
        FeedListKey(
            "authority-file",
            "path",
            "A PEM file with the certificate authorities to trust for this feed, instead of the system's."
        ),
    ]

    private static let exchange = [
        FeedListKey(
            "opml",
            "names with texts",
            "Attributes of an OPML file that have no key here, such as `htmlUrl` and `description`; `newswire feeds export` "
                + "writes them again."
        )
    ]

    private static let rules = [
        FeedListKey("include", "term or list of terms", "Only entries that contain one of these terms."),
        FeedListKey("exclude", "term or list of terms", "No entries that contain one of these terms."),
        FeedListKey(
            "updates",
            "announce or ignore",
            "`announce`: an entry whose title, text or files changed is announced again; up to five edits of a feed at a time, "
                + "once an hour, and the others later. Default: `ignore`."
        ),
        FeedListKey(
            "future",
            "announce or hold",
            "An entry dated ahead is announced now, or held until then. Default: `announce`."
        ),
        FeedListKey(
            "corrections",
            "term or list of terms",
            "Entries whose title begins or ends with one of these terms, or that have it as a category, correct a story "
                + "that was announced: the message replaces the earlier one."
        ),
        FeedListKey(
            "retractions",
            "term or list of terms",
            "Entries whose title begins or ends with one of these terms, or that have it as a category, withdraw a "
                + "story that was announced."
        ),
        FeedListKey(
            "notBefore",
            "hour",
            "Messages for entries found after midnight wait until this hour of the publisher's local time; `00:00`: no wait."
        ),
    ]

    /// The rows of the reference's table.
    package static func table(_ keys: [FeedListKey]) -> String {
        (["| key | value | meaning |", "| --- | --- | --- |"]
            + keys.map { "| `\($0.name)` | \($0.value) | \($0.summary) |" }).joined(separator: "\n")
    }
}
