import FoundationEssentials
import Testing

@testable import Feeds

struct FeedDateTests {
    @Test(arguments: [
        ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z"), ("2026-11-20T10:00:00.123+02:00", "2026-11-20T08:00:00Z"),
        ("2026-11-20T10:00Z", "2026-11-20T10:00:00Z"), ("2026-11-20", "2026-11-20T00:00:00Z"),
        ("2026-11", "2026-11-01T00:00:00Z"), ("2026", "2026-01-01T00:00:00Z"),
        ("2026-11-20 10:00:00", "2026-11-20T10:00:00Z"), ("2026-11-20t10:00:00z", "2026-11-20T10:00:00Z"),
        ("20261120T100000Z", "2026-11-20T10:00:00Z"), ("2026-11-20T10:00:00+0530", "2026-11-20T04:30:00Z"),
        ("2017-08-01 13:55:44.364 +0200 CEST", "2017-08-01T11:55:44Z"), ("1763632800", "2025-11-20T10:00:00Z"),
        ("1763632800123", "2025-11-20T10:00:00Z"), ("2024-02-29T23:59:60Z", "2024-02-29T23:59:59Z"),
    ])
    func `RFC 3339 and its relatives are read`(written: String, expected: String) {
        #expect(text(FeedDate.parse(written)) == expected)
    }

    @Test(arguments: [
        ("Fri, 20 Nov 2026 10:00:00 GMT", "2026-11-20T10:00:00Z"), ("20 Nov 2026 10:00 +0200", "2026-11-20T08:00:00Z"),
        ("Fri, 20 Nov 26 10:00:00 EST", "2026-11-20T15:00:00Z"),
        ("Fri, 20 Nov 99 10:00:00 PDT", "1999-11-20T17:00:00Z"),
        ("WED,23 MAY 2012 1:02:03 Z", "2012-05-23T01:02:03Z"),
        ("Mon, May 25 2020 04:45:26 +0000", "2020-05-25T04:45:26Z"),
        ("Thursday, 3 Sept 2026 10:00:00 UT", "2026-09-03T10:00:00Z"),
        ("1 Jan 2026 24:00:00 GMT", "2026-01-02T00:00:00Z"),
        ("Fri, 20 Nov 2026 10:00:00 +0200 (EET)", "2026-11-20T08:00:00Z"),
        ("Fri,  20  Nov,2026", "2026-11-20T00:00:00Z"),
        ("\n  Fri, 20 Nov 2026\n 10:00:00 -0000 ", "2026-11-20T10:00:00Z"),
        ("20 Nov 2026 10:00:00+5:30", "2026-11-20T04:30:00Z"), ("20 Nov 2026 10:00:00 GMT+2", "2026-11-20T08:00:00Z"),
        ("20 Nov 2026 10:00:00 UTC+02:00", "2026-11-20T08:00:00Z"),
        ("20 Nov 2026 10:00:00 XYZ", "2026-11-20T10:00:00Z"),
        ("20 Nov 2026 10:00:00 +9900", "2026-11-20T10:00:00Z"), ("20 Nov 2026 10:00:00 CEST", "2026-11-20T08:00:00Z"),
        ("Fri Nov 20 10:00:00 2026", "2026-11-20T10:00:00Z"), ("Nov 20, 2026 10:05 PM EST", "2026-11-21T03:05:00Z"),
        ("2026-11-20 10:00 Europe/Berlin", "2026-11-20T09:00:00Z"),
        ("20 Jul 2026 10:00 America/New_York", "2026-07-20T14:00:00Z"),
        ("2026-07-20T10:00:00+02:00[Europe/Berlin]", "2026-07-20T08:00:00Z"),
        ("2026-03-29 03:30 Europe/Berlin", "2026-03-29T01:30:00Z"),
        ("2026-11-20 10:00 Nowhere/Land", "2026-11-20T10:00:00Z"),
        ("2026-11-20 10:00 America/Argentina/Buenos_Aires", "2026-11-20T13:00:00Z"),
        ("20 Nov 2026 12:30 am", "2026-11-20T00:30:00Z"), ("31 Nov 2026 10:00:00 GMT", "2026-11-30T10:00:00Z"),
    ])
    func `RFC 822 as publishers write it is read`(written: String, expected: String) {
        #expect(text(FeedDate.parse(written)) == expected)
    }

    @Test(arguments: [
        ("Fr, 20 März 2026 10:00:00 MEZ", "2026-03-20T09:00:00Z"),
        ("mar. 3 juin 2003 10:00:00", "2003-06-03T10:00:00Z"),
        ("20 août 2026", "2026-08-20T00:00:00Z"), ("2004-05-25 오후 11:23:17", "2004-05-25T23:23:17Z"),
        ("2026年11月20日", "2026-11-20T00:00:00Z"), ("20 ноября 2026 10:00", "2026-11-20T10:00:00Z"),
        ("20.11.2026 10:00", "2026-11-20T10:00:00Z"), ("11/20/2026", "2026-11-20T00:00:00Z"),
        ("20/11/2026", "2026-11-20T00:00:00Z"), ("2026/11/20 10:00", "2026-11-20T10:00:00Z"),
    ])
    func `other languages and loose forms are read`(written: String, expected: String) {
        #expect(text(FeedDate.parse(written)) == expected)
    }

    @Test(arguments: [
        ("2026-W10-1", "2026-03-02T00:00:00Z"), ("2026W101", "2026-03-02T00:00:00Z"),
        ("2026-W10", "2026-03-02T00:00:00Z"), ("2026-W01-1", "2025-12-29T00:00:00Z"),
        ("2020-W53-7T09:05:06Z", "2021-01-03T09:05:06Z"), ("2026-w10-7T09:05+01:00", "2026-03-08T08:05:00Z"),
        ("20260302090506", "2026-03-02T09:05:06Z"), ("20260302090506+0100", "2026-03-02T08:05:06Z"),
        ("202603020905", "2026-03-02T09:05:00Z"),
    ])
    func `ISO 8601's other forms are read`(written: String, expected: String) {
        #expect(text(FeedDate.parse(written)) == expected)
    }

    @Test(arguments: [
        ("2 Mar 2026 09:05:06 ET", "2026-03-02T14:05:06Z"), ("2 Jul 2026 09:05:06 ET", "2026-07-02T13:05:06Z"),
        ("2 Jul 2026 09:05 CT", "2026-07-02T14:05:00Z"), ("2 Jul 2026 09:05 MT", "2026-07-02T15:05:00Z"),
        ("2 Dec 2026 09:05 PT", "2026-12-02T17:05:00Z"), ("8 Mar 2026 01:59 ET", "2026-03-08T06:59:00Z"),
        ("8 Mar 2026 03:00 ET", "2026-03-08T07:00:00Z"), ("1 Nov 2026 02:00 ET", "2026-11-01T07:00:00Z"),
        ("Mar 2, 2026 9:05 p.m. ET", "2026-03-03T02:05:00Z"), ("Mar 2, 2026, 9:05\u{202F}PM", "2026-03-02T21:05:00Z"),
        ("2026-03-02T09:05:06\u{2212}05:00", "2026-03-02T14:05:06Z"),
        ("2026\u{2011}03\u{2011}02", "2026-03-02T00:00:00Z"),
    ])
    func `zones that people write, and characters that typesetters write, are read`(written: String, expected: String) {
        #expect(text(FeedDate.parse(written)) == expected)
    }

    @Test(
        arguments: [
            "ledna února března dubna května června července srpna září října listopadu prosince",
            "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
            "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
            "OCAK ŞUBAT MART NİSAN MAYIS HAZİRAN TEMMUZ AĞUSTOS EYLÜL EKİM KASIM ARALIK",
            "Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara",
        ]
    )
    func `Czech and Turkish months are read`(names: String) {
        for (index, name) in names.split(separator: " ").enumerated() {
            let expected = "2026-\(index < 9 ? "0" : "")\(index + 1)-02T09:05:00Z"
            #expect(text(FeedDate.parse("2. \(name) 2026 9:05")) == expected, "\(name)")
        }
    }

    @Test(arguments: [
        "2026 in review", "1999 bottles", "Summer 2026", "Q3 2026", "v1.2.34", "1.2.3", "10.0.12.1", "1-2-3",
        "call 1763632800", "0000000000", "123456789", "2026-W00-1", "2026-W54", "2025-W53-1", "2026-W10-8", "2026-W1",
        "20261302090506", "20260302990506", "2026 12 monkeys", "March of 2026 was the warmest that anybody remembers",
        "Mar 5 6",
    ])
    func `a text with numbers that is not a date is refused`(written: String) {
        #expect(FeedDate.parse(written) == nil)
    }

    @Test(arguments: [
        "", "yesterday", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2026-13-01", "2026-00-10", "99:99", "12",
        "2026-11-20T25:00:00Z", "Fri, 20 Foo 2026 10:00:00", "-", "+++", "99999999999999999999",
        "Mon, 00 Jan 0000 00:00:00 GMT", "((((", "2026-11-20T10:99Z",
    ])
    func `a text that is not a date is refused`(written: String) {
        #expect(FeedDate.parse(written) == nil)
    }
}
