/// The keys of feed lists.
package enum FeedListKey {
    /// A key: its name for the reader, and for the reference in `docs/feed-lists.md` the allowed values and a description.
    package typealias Row = (name: String, value: String, summary: String)

    /// Keys of a list itself.
    package static let list = ofLists + rules + exchange
    /// Keys of one feed.
    package static let feed = ofFeeds + access + rules + exchange

    private static let ofLists: [Row] = [
        ("category", "tag", "The tag that the list's messages go to. Required."),
        (
            "template", "text",
            "The text of a message, with terms such as `$(title)`. Default: `\(FeedList.standardTemplate)`."
        ),
        (
            "language", "name",
            "The list's main language. Also puts the text into the property `News_{name}`. Required where a feed names "
                + "another."
        ),
        (
            "templates", "text for each language",
            "Texts of messages in other languages. Default: `template`."
        ),
        (
            "match", TranslationMatch.allCases.map(\.rawValue).joined(separator: " or "),
            "How a story is recognized in several languages: by its address without the language in it, or by an "
                + "identifier that is the same in all feeds. Default: `link`."
        ),
        ("every", "time", "The polling interval of feeds without their own."),
        ("feeds", "list", "The feeds. Required; may be empty."),
    ]

    private static let ofFeeds: [Row] = [
        (
            "url", "address",
            "`https://` or `http://`, also with `feed:` in front or `feed://`; with `local`, also `file:///`. Required."
        ),
        ("language", "name", "The language of its entries. Default: the list's `language`."),
        ("title", "text", "The feed's name in messages. Default: its own title."),
        (
            "every", "time",
            "The polling interval, unless the feed asks for a longer one: `1m` to `7d`, with `local` from `1s`. "
                + "Default: `\(PollInterval.standard)`."
        ),
        (
            "by-agreement", "true or false",
            "Uses `every`, whatever the feed and its server ask for, except `Retry-After`. For your own feeds, and where "
                + "the publisher has agreed."
        ),
        (
            "local", "true or false",
            "Allows a file, or an address on this machine or its network. Redirects may lead to other ports of the "
                + "same host; all others must lead to public addresses."
        ),
    ]

    /// Keys that belong to this machine: they are neither exported nor imported.
    static let ofThisMachine = Set(["local"] + access.map(\.name))

    private static let access: [Row] = [
        (
            "headers", "names with texts",
            "Headers of requests for the feed, in addition to newswire's own or instead of `Accept`. Secret ones belong "
                + "in `headers-file`."
        ),
        (
            "headers-file", "path",
            "A file with further headers, one `Name: value` a line, such as `Authorization: Bearer …`. It is read for "
                + "each request; only the publisher's user should be able to read it. A relative path begins at the "
                + "list's folder."
        ),
        ("user-agent", "text", "The `User-Agent` instead of newswire's own, with its contact."),
        (
            "cookies", "true or false",
            "Sends cookies back that the server sets during redirects, and forgets them after the answer."
        ),
        (
            "authority-file", "path",
            "A PEM file with the certificate authorities to trust for this feed, instead of the system's."
        ),
    ]

    private static let exchange: [Row] = [
        (
            "opml", "names with texts",
            "Attributes of an OPML file that have no key here, such as `htmlUrl` and `description`; `newswire feeds export` "
                + "writes them again."
        )
    ]

    private static let rules: [Row] = [
        ("include", "term or list of terms", "Only entries that contain one of these terms."),
        ("exclude", "term or list of terms", "No entries that contain one of these terms."),
        (
            "updates", "announce or ignore",
            "`announce`: an entry whose title, text or files changed is announced again; up to five edits of a feed at a time, "
                + "once an hour, and the others later. Default: `ignore`."
        ),
        (
            "future", "announce or hold",
            "An entry dated ahead is announced now, or held until then. Default: `announce`."
        ),
        (
            "corrections", "term or list of terms",
            "Entries whose title begins or ends with one of these terms, or that have it as a category, correct a story "
                + "that was announced: the message replaces the earlier one."
        ),
        (
            "retractions", "term or list of terms",
            "Entries whose title begins or ends with one of these terms, or that have it as a category, withdraw a "
                + "story that was announced."
        ),
        (
            "notBefore", "hour",
            "Messages for entries found after midnight wait until this hour of the publisher's local time; `00:00`: no wait."
        ),
    ]

    /// The rows of the reference's table.
    package static func table(_ keys: [Row]) -> String {
        (["| key | value | meaning |", "| --- | --- | --- |"]
            + keys.map { "| `\($0.name)` | \($0.value) | \($0.summary) |" }).joined(separator: "\n")
    }
}
