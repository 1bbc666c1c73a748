import PrometheusText
import Testing

struct PrometheusTextTests {
    @Test func `a metric is its help, its type and a line for each sample`() {
        var page = PrometheusText()
        page.add("a_total", .counter, "All of it.", [.init(3, ["hub": "news"]), .init(0.25, ["hub": "b", "x": ""])])
        page.add("b_seconds", .gauge, "How long.", [.init(12_345_678_901_234)])
        #expect(
            page.text == """
                # HELP a_total All of it.
                # TYPE a_total counter
                a_total{hub="news"} 3
                a_total{hub="b",x=""} 0.25
                # HELP b_seconds How long.
                # TYPE b_seconds gauge
                b_seconds 12345678901234

                """
        )
    }

    @Test(arguments: [
        (#"a"b"#, #"a\"b"#), (#"a\b"#, #"a\\b"#), ("a\nb", #"a\nb"#), ("\"\u{301}", "\\\"\u{301}"), ("ä ☂", "ä ☂"),
    ])
    func `what would end a label is escaped`(label: String, expected: String) {
        var page = PrometheusText()
        page.add("a", .gauge, "Help.", [.init(1, ["label": label])])
        #expect(page.text.hasSuffix("a{label=\"\(expected)\"} 1\n"))
    }

    @Test func `help keeps its quotation marks and no line break`() {
        var page = PrometheusText()
        page.add("a", .gauge, "Say \"x\\y\"\nhere.", [.init(1)])
        #expect(page.text.hasPrefix(#"# HELP a Say "x\\y"\nhere."# + "\n"))
    }

    @Test(arguments: [
        (Double.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (-1.5, "-1.5"), (1e300, "1e+300"),
    ])
    func `numbers are as Prometheus reads them`(value: Double, expected: String) {
        var page = PrometheusText()
        page.add("a", .gauge, "Help.", [.init(value)])
        #expect(page.text.hasSuffix("a \(expected)\n"))
    }

    @Test func `a metric without samples is left out`() {
        var page = PrometheusText()
        page.add("a", .gauge, "Help.", [])
        #expect(page.text.isEmpty)
    }
}
