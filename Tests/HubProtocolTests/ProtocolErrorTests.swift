import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct ProtocolErrorTests {
    /// 2020-07-02 18:33:21 UTC.
    static let date = Date(timeIntervalSince1970: 1_593_714_801)

    @Test(arguments: [
        (
            ProtocolError.unauthorized(.invalidSignature),
            "<Error><Code>401</Code><Detail>InvalidSignature: The token has an invalid signature..TrackingId:g_G19,TimeStamp:7/2/2020 6:33:21 PM</Detail></Error>"
        ),
        (
            .unauthorized(.claimRequired(.manage)),
            "<Error><Code>401</Code><Detail>Manage claim is required for this operation..TrackingId:g_G19,TimeStamp:7/2/2020 6:33:21 PM</Detail></Error>"
        ),
        (
            .notFound("Installation not found"),
            "<Error><Code>404</Code><Detail>Installation not found.TrackingId:g_G19,TimeStamp:7/2/2020 6:33:21 PM</Detail></Error>"
        ),
        (
            .badRequest("a < b & \"c\"\u{1}"),
            "<Error><Code>400</Code><Detail>A &lt; b &amp; \"c\"\u{FFFD}.TrackingId:g_G19,TimeStamp:7/2/2020 6:33:21 PM</Detail></Error>"
        ),
    ])
    func `an error is written as the service writes it`(error: ProtocolError, expected: String) {
        #expect(error.xml(trackingID: "g_G19", at: Self.date) == expected)
    }

    @Test(arguments: [(1, 1), (1_000, 1), (1_001, 2), (60_000, 60)] as [(milliseconds: Int, seconds: Int)])
    func `a time to wait is sent in whole seconds, never too few`(milliseconds: Int, seconds: Int) {
        #expect(ProtocolError.tooManyRequests("x", wait: .milliseconds(milliseconds)).retryAfter == seconds)
    }

    @Test(arguments: [
        ProtocolError.unauthorized(.missingToken), .unauthorized(.malformedToken("x < y")),
        .unauthorized(.invalidSignature),
        .unauthorized(.expiredToken), .unauthorized(.invalidAudience), .unauthorized(.claimRequired([.listen, .send])),
        .badRequest("é\n\"x\""), .forbidden("x"), .quotaExceeded("x"), .notFound("x"), .tooSlow("x"),
        .conflict("It exists."), .gone("x"),
        .preconditionFailed("x"), .tooLarge("x"), .unprocessable("x"), .tooManyRequests("x"),
        .internalError("x"), .stopping, ProtocolError(status: 400, detail: ""),
    ])
    func `an error that is read is the one that was written`(error: ProtocolError) {
        #expect(ProtocolError(xml: error.xml(trackingID: "t", at: Self.date)) == error)
    }

    @Test func `a status whose codes the texts tell has no code of its own`() {
        #expect(ProtocolError(status: 401, detail: "Unauthorized").code == 401)
        #expect(ProtocolError(status: 418, detail: "x").code == 418)
        #expect(ProtocolError(status: 503, detail: "x").code == ProtocolError.Code.unavailable)
    }

    @Test func `errors of other hubs are read, their status believed before their code`() {
        let recorded = """
            <?xml version="1.0"?><Error>
              <Code>40901</Code>
              <Detail>SubCode=40901. Busy &amp; &#x77;aiting.TrackingId:x_G3,TimeStamp:11/7/2018 12:18:37 AM</Detail>
            </Error>
            """
        let error = ProtocolError(xml: recorded)
        #expect(error == ProtocolError(status: 409, code: 40_901, detail: "SubCode=40901. Busy & waiting"))
        #expect(ProtocolError(xml: "<Error><Code>401</Code></Error>", status: 403)?.status == 403)
        let unknownReference = ProtocolError(xml: "<Error><Code>400</Code><Detail>a &nbsp; b</Detail></Error>")
        #expect(unknownReference?.detail == "a &nbsp; b")
    }

    @Test(arguments: [
        "", "<html>", "<Error/>", "<Error><Code>x</Code></Error>", "<Error><Code>200000</Code></Error>",
        "<Error><Code>7</Code></Error>", "<Error><Code>401", String(repeating: "<Error>", count: 20_000),
    ])
    func `other documents are not taken for an error of this kind`(text: String) {
        #expect(ProtocolError(xml: text) == nil)
    }

    @Test(arguments: [
        (0.0, "1/1/1970 12:00:00 AM", "1970-01-01T00:00:00Z"),
        (951_782_399, "2/28/2000 11:59:59 PM", "2000-02-28T23:59:59Z"),
        (951_782_400, "2/29/2000 12:00:00 AM", "2000-02-29T00:00:00Z"),
        (-1, "12/31/1969 11:59:59 PM", "1969-12-31T23:59:59Z"),
        (4_107_542_400, "3/1/2100 12:00:00 AM", "2100-03-01T00:00:00Z"),
        (43_200, "1/1/1970 12:00:00 PM", "1970-01-01T12:00:00Z"),
        (253_402_300_799, "12/31/9999 11:59:59 PM", "9999-12-31T23:59:59Z"),
        (1e300, "12/31/9999 11:59:59 PM", "9999-12-31T23:59:59Z"),
        (-1e300, "1/1/1 12:00:00 AM", "0001-01-01T00:00:00Z"), (.nan, "", ""),
    ])
    func `times are written by the calendar`(seconds: Double, american: String, iso: String) {
        let date = Date(timeIntervalSince1970: seconds)
        guard !seconds.isNaN else {
            #expect(!ISODateTime.format(date).isEmpty, "no trap")
            return
        }
        #expect(ISODateTime.formatUS(date) == american)
        #expect(ISODateTime.format(date) == iso)
        if seconds.magnitude < 1e200 { #expect(ISODateTime.parse(iso) == date) }
    }

    @Test(arguments: [
        ("2019-01-01T10:00Z", 1_546_336_800.0), ("2019-01-01T10:00+0000", 1_546_336_800),
        ("2019-01-01T10:00:00", 1_546_336_800),
        ("2019-01-01", 1_546_300_800), ("2019-01-01T11:00:00.000+01:00", 1_546_336_800),
        ("2019-01-01'T'10:00:00", 1_546_336_800),
        ("2019-01-01T10:00:00.123456789Z", 1_546_336_800.1234567), ("2019-01-01t10:00:00z", 1_546_336_800),
        ("2019-01-01 10:00:00-02", 1_546_344_000), ("2016-12-31T23:59:60Z", 1_483_228_800),
    ])
    func `the date-times that clients send are read`(text: String, seconds: Double) throws {
        let date = try #require(ISODateTime.parse(text))
        #expect(abs(date.timeIntervalSince1970 - seconds) < 1e-6)
    }

    @Test(arguments: [
        "", "soon", "2019", "2019-13-01", "2019-02-29", "0000-01-01", "2019-01-01T", "2019-01-01T24:00",
        "2019-01-01T10:60",
        "2019-01-01T10:00:61", "2019-01-01T10:00:00.", "2019-01-01T10:00Zx", "2019-01-01T10:00+1",
        "2019-01-01T10:00+24:00",
        "٢٠١٩-01-01", "2019-01-01'T10:00",
    ])
    func `a text that is not a date-time is not read`(text: String) {
        #expect(ISODateTime.parse(text) == nil)
    }

    @Test(arguments: [
        ("tag 'a b' contains a space", "Tag 'a b' contains a space"), ("a tag is empty", "A tag is empty"),
        ("installationId is empty", "installationId is empty"), ("'a' is not an id", "'a' is not an id"),
        ("tags[0]: a tag is empty", "tags[0]: a tag is empty"), ("", ""), ("é", "é"), ("Ready", "Ready"),
    ])
    func `a reply is a sentence, of whatever text`(detail: String, sentence: String) {
        #expect(ProtocolError.badRequest(detail).sentence == sentence)
    }

    @Test func `every refusal for want of a claim is recognized by its words`() throws {
        let text = "Manage claim is required to set or remove the reserved tag 'username:a'."
        let xml = ProtocolError(.claimRequired, text).xml(trackingID: "g", at: Date(timeIntervalSince1970: 0))
        #expect(try #require(ProtocolError(xml: xml, status: 401)).code == ProtocolError.Code.claimRequired.number)
    }
}
