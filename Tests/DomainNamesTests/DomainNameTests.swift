import DomainNames
import Testing

struct DomainNameTests {
    @Test(arguments: [
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("faß.example", "xn--fa-hia.example"),
        ("مثال.إختبار", "xn--mgbh0fb.xn--kgbechtv"), ("a_ü.example.", "xn--a_-yka.example."),
        ("169.254。169.254", "169.254.169.254"), ("１６９．２５４.169.254", "169.254.169.254"),
        ("ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "localhost"), ("local\u{AD}host", "localhost"), ("０x7f.1", "0x7f.1"),
        ("Example.org", "Example.org"), ("[::1]", "[::1]"),
    ])
    func `a name has one form in ASCII`(written: String, ascii: String) {
        #expect(DomainName.ascii(written) == ascii)
    }

    @Test(arguments: [
        "℀.example", "a／b.example", "a＠b.example", "a：81.example", "a？b.example", "a％41.example", "ü%2f.example", "ü/x",
        "u@ü",
        "ü:80", "ü..example", "-ü.example", "ü\u{200D}.example", "\u{FFFD}.example", "ü x.example",
        String(repeating: "ü", count: 70) + ".example", String(repeating: "ü.", count: 400),
    ])
    func `what becomes no name is refused`(written: String) {
        #expect(DomainName.ascii(written) == nil)
    }
}
