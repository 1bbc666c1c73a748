import Testing

@testable import Feeds

struct URLReferenceTests {
    /// RFC 3986 §5.4, as far as the scheme is http.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), ("./g/.", "http://a/b/c/g/"),
        ("g/../h", "http://a/b/c/h"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("mailto:x@y", "mailto:x@y"),
    ])
    func `references resolve as the standard says`(reference: String, expected: String) throws {
        let base = try #require(URLReference("http://a/b/c/d;p?q"))
        #expect(URLReference(reference)?.resolved(against: base).text == expected)
    }

    @Test(arguments: [
        (" https://x.example/a b\n?q=ä ", "https://x.example/a%20b?q=%C3%A4"),
        ("HTTPS://X.example/%7Ea", "https://X.example/%7Ea"),
        ("http://x.example/a\"<b>", "http://x.example/a%22%3Cb%3E"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://a@bücher.example:81/", "http://a@xn--bcher-kva.example:81/"),
    ])
    func `careless addresses are repaired`(written: String, expected: String) {
        #expect(FeedContext.link(written, base: nil) == expected)
    }

    @Test(arguments: [
        "http://x.example", "https://x.example./a", "http://xn--bcher-kva.example/", "http://127.0.0.1:8080/a",
        "http://[2001:db8::1]:8080/a", "http://u:p@x.example/", "http://my_host/a", "http://1.example/",
        "https://x.example:443/", "http://a/",
    ])
    func `an address with a host is taken as it is`(written: String) {
        #expect(FeedContext.link(written, base: nil) == written)
    }

    @Test(arguments: [
        "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "mailto:x@y.example", "http://",
        "//x.example/",
        "http://.x.example/", "http://x..example/", "http://x.example:port/", "http://x.example:70000/", "http://:80/",
        "http://http://x.example/", "https://https//x.example/", "http://x,example/", "http://x%20y/", "http://[x]/",
        "http://[::1/", "http://256.1.1.1/", "http://1.2.3/", "http://2026/", "http://\u{FFFD}.example/",
        "http://\(String(repeating: "h", count: 64)).example/", "http://x.example;y/", "http://$HOST/a", "http://@/",
        "x", "", "http://a b/", "ftp://x.example/", "http:///x", String(repeating: "h", count: 10_000),
    ])
    func `a text that is not a web address is refused`(written: String) {
        #expect(FeedContext.link(written, base: nil) == nil)
    }

    @Test(arguments: [
        ("https://www.x.example/a/?utm_source=rss&utm_medium=x", "http://x.example/a"),
        ("https://x.example:443/a?id=1&fbclid=2", "http://x.example/a?id=1"),
        ("https://X.Example/a#top", "http://x.example/a"),
        ("http://u:p@x.example/a", "http://x.example/a"),
    ])
    func `one page compares equal under its spellings`(one: String, other: String) throws {
        #expect(try #require(URLReference(one)).comparable == #require(URLReference(other)).comparable)
    }

    @Test(arguments: [
        "?id=1&PHPSESSID=x1", "?jsessionid=5F&id=1", "?id=1&sid=0123456789abcdef0123456789abcdef",
        "?UTM_Source=a&id=1&utm_id",
        "?id=1&fbclid=x&gclid=y&msclkid=z", "?id=1&mc_cid=1&_hsenc=2&xtor=RSS-1&at_medium=rss", "?id=1#top", "?&id=1&",
    ])
    func `sessions and campaigns do not make another page`(query: String) throws {
        let page = try #require(URLReference("https://x.example/s.php?id=1")).comparable
        #expect(try #require(URLReference("https://x.example/s.php" + query)).comparable == page)
        let path = "https://x.example/s.php;jsessionid=5F0A.node1" + query
        #expect(try #require(URLReference(path)).comparable == page)
    }

    @Test(arguments: [
        ("http://x.example/a?id=1", "http://x.example/a?id=2"), ("http://x.example/#/a", "http://x.example/#/b"),
        ("http://x.example:8080/", "http://x.example/"), ("http://x.example/A", "http://x.example/a"),
        ("http://x.example/article.pl?sid=26/11/24/1", "http://x.example/article.pl?sid=26/11/24/2"),
        ("http://x.example/talk?session_id=1234", "http://x.example/talk?session_id=1235"),
        ("http://x.example/a;v=1", "http://x.example/a;v=2"),
        ("http://x.example/?pk_id=1", "http://x.example/?pk_id=2"),
    ])
    func `two pages compare different`(one: String, other: String) throws {
        #expect(try #require(URLReference(one)).comparable != #require(URLReference(other)).comparable)
    }
}
