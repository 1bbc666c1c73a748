/// Feeds in the shape of podcasts: some dozens of episodes, each with the same long show notes two or three times.
///
/// They are written here because those of publishers are not ours to keep.
enum ShowNotes {
    private static let episodes = 60
    private static let paragraphs = 12

    /// Feeds whose notes are escaped, in ASCII alone and with other characters, and one whose notes are in CDATA.
    static var documents: [[UInt8]] {
        let ascii = notes(aside: "")
        let other = notes(aside: " – “as she said at the café” …")
        return [feed(escaped(ascii)), feed(escaped(other)), feed("<![CDATA[\(other)]]>")].map { Array($0.utf8) }
    }

    private static func feed(_ notes: String) -> String {
        let items = (1...episodes).map { number in
            """
            <item><title>Episode \(number): news &amp; more</title><link>https://podcast.example/\(number)</link>
            <guid isPermaLink="false">\(number)-4d2c</guid><pubDate>Mon, \(1 + number % 28) Jun 2026 09:05:06 +0000</pubDate>
            <description>\(notes)</description><content:encoded>\(notes)</content:encoded>
            <itunes:summary>\(notes)</itunes:summary><itunes:duration>3600</itunes:duration>
            <enclosure url="https://podcast.example/\(number).mp3" length="123456" type="audio/mpeg"/></item>
            """
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"
            xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>Podcast</title>
            <link>https://podcast.example/</link>\(items.joined())</channel></rss>
            """
    }

    private static func notes(aside: String) -> String {
        (1...paragraphs).map { number in
            """
            <p>In this part we talk with our guest about what happened in the week, what it means for the people who
            live there\(aside), and what comes next. <a href="https://podcast.example/?part=\(number)&amp;from=feed">Read
            more</a> or write to us.</p>
            <ul><li><strong>00:\(number)</strong> The guest &amp; the answer</li></ul>
            """
        }.joined(separator: "\n")
    }

    private static func escaped(_ html: String) -> String {
        html.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
