import Testing

@testable import Markup

struct HTMLTextTests {
    @Test(arguments: [
        ("plain", "plain"), ("a <b>bold</b>er", "a bolder"), ("<p>one</p><p>two</p>", "one two"), ("a<br>b", "a b"),
        ("a<br/>b<hr>c", "a b c"), ("<ul><li>x<li>y</ul>", "x y"), ("a &amp; b &lt;i&gt;", "a & b <i>"),
        ("&#8217;&#x2019;&rsquo;", "’’’"), ("&#146;&#128;", "’€"), ("&nosuch; &amp", "&nosuch; &"),
        ("?a=1&copy=2 &copy; &copy", "?a=1&copy=2 © ©"), ("x<script>alert('<p>')</script>y", "xy"),
        ("x<style>p{}</style><!-- no > --> y", "x y"), ("a\u{A0}\n\t b", "a b"), ("5 < 6 > 4", "5 < 6 > 4"),
        ("a <img src=x alt='pic'> b", "a b"), ("<a href='>'>x</a>", "x"), ("<a href =\n\t'>'>x</a>", "x"),
        ("<a title=\"it's\">x</a>", "x"),
        ("<p", "<p"), ("x <script>unfinished", "x unfinished"), ("<![CDATA[x]]>", ""), ("&#0;&#xD800;x", "\u{FFFD}x"),
        ("it's <em>5 o'clock</em>", "it's 5 o'clock"), ("<A HREF=\"x\">X</A><BR>y", "X y"),
        ("&notin;&NotEqualTilde;", "∉≂̸"),
    ])
    func `HTML becomes text`(html: String, expected: String) {
        #expect(HTMLText.plain(html, limit: 100) == expected)
    }

    @Test(arguments: [
        ("<antirez> & friends", "<antirez> & friends"), ("<b>News</b> <x>", "News <x>"), ("AT&amp;T", "AT&T"),
    ])
    func `a title keeps names in brackets`(html: String, expected: String) {
        #expect(HTMLText.plain(html, limit: 100, style: .title) == expected)
    }

    /// HTML §13.2.5.2 to §13.2.5.4.
    @Test(arguments: [
        ("x<script>for (i=0;i<n;i++) a('</b>');</script>y", "xy"), ("x<script>s = \"<!--\"</script>y", "xy"),
        ("x<SCRIPT>a</scripts></ script></SCRIPT\n>y", "xy"), ("x<style>a::after { content: '<!--' }</style>y", "xy"),
        ("<p>a<script>'</div>'</script>b", "ab"), ("<title>a <b> &amp; c</title> d", "a <b> & c d"),
        ("<textarea><!-- a --></textarea>", "<!-- a -->"), ("x<noscript><!-- </noscript>y", "xy"),
        ("x<script></script>y", "xy"), ("<script>a</script>b<script>c</script>d", "bd"),
        ("x <script>\"<b>\" unfinished", "x \"\" unfinished"),
        ("x <script>a</script> <script>b", "x b"),
    ])
    func `tags do not count in raw text`(html: String, expected: String) {
        #expect(HTMLText.plain(html, limit: 100) == expected)
    }

    @Test func `text keeps its tags and loses its references`() {
        #expect(HTMLText.plain("<p>R&amp;D</p> &#239;", limit: 100, style: .text) == "<p>R&D</p> ï")
    }

    @Test(arguments: [
        ("5 < 6", false), ("<antirez>", false), ("AT&T", false), ("AT&amp;T", true), ("<b>x</b>", true),
        ("a<br>", true),
        ("x</b>", true), ("&#39;", true),
    ])
    func `markup is distinguished from text`(text: String, expected: Bool) {
        #expect(HTMLText.isLikelyMarkup(Array(text.utf8)[...]) == expected)
    }

    @Test func `references are decoded once`() {
        #expect(HTMLText.plain("&amp;lt;b&amp;gt; &amp;#39;", limit: 100) == "&lt;b&gt; &#39;")
    }

    /// Beginning, repeated part and end: whole, they would fill the log.
    @Test(arguments: [
        ("", "<a", ""), ("", "<script>", ""), ("", "<a b='", ""), ("", "&", ""), ("", "<!--", ""), ("", "</a", ">"),
        ("<b x=", "\"'", ""), ("<p", " ", "\">"), ("", "&#", ";"), ("<a href=\"", "<a>", ""),
        ("", "<title>", ""), ("", "<script></", ""), ("<script>", "</scrip>", ""), ("", "<style></style>", ""),
    ])
    func `hostile text takes linear time`(start: String, part: String, end: String) {
        let html = start + String(repeating: part, count: 200_000) + end
        var plain = ""
        #expect(processorTime { plain = HTMLText.plain(html, limit: 50) } < linearTime)
        #expect(plain.count <= 50)
    }
}
