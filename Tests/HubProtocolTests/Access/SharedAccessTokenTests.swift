import Formats
import Testing

@testable import HubProtocol

@Suite struct SharedAccessTokenTests {
    static let key = "h+3Qd/9kT0YbZ1x7Vn5rLw2mKc8sPqEoJ6uGaFyNiXM="

    /// Protocol §1.7; the signatures are base64 before URL-encoding.
    static let vectors = [
        (
            "https%3a%2f%2flocalhost%3a8443%2fhub1%2fmessages%3fapi-version%3d2020-06",
            "C24Bmd6TFs5pg/kNBU6Qn85lHa1PyYwepQMgTv4j6PQ="
        ),
        ("https%3A%2F%2Fns1.servicebus.windows.net%2F", "4H0gEyReVqG4FtH6eCuj84Sy31sVN4k7hWVOKdlZF30="),
        ("sb%3a%2f%2fns1.servicebus.windows.net%2f", "RWJfl6fr0GaxtJspF0IAgQy132nsBEIM23dSaLadXNE="),
        (
            "http%3a%2f%2fns1.servicebus.windows.net%2fhub1%2fregistrations%2f",
            "teHx7TgHC5b9EU7hzLYYA3HWoL/fwtJJL6y5rKik1Kk="
        ),
    ]

    private static func encoded(_ signature: String) -> String { PercentEncoding.encode(signature) }

    @Test(arguments: vectors)
    func `the protocol's vectors verify`(resource: String, signature: String) throws {
        let fields = ["sr=\(resource)", "sig=\(Self.encoded(signature))", "se=1900000000", "skn=Rule"]
        for order in [[0, 1, 2, 3], [1, 2, 3, 0], [2, 1, 3, 0], [3, 2, 1, 0]] {
            let header = "SharedAccessSignature " + order.map { fields[$0] }.joined(separator: "&")
            let token = try SharedAccessToken(parsing: header)
            #expect(token.isSigned(with: Self.key))
            #expect(!token.isSigned(with: Self.key + "="))
            #expect(token.rawResource == resource)
            #expect(token.expiresAt == 1_900_000_000)
            #expect(token.keyName == "Rule")
        }
    }

    @Test func `signing makes the protocol's own signature`() throws {
        let header = SharedAccessToken.sign(
            resource: "HTTPS://Localhost:8443/hub1/messages?api-version=2020-06",
            keyName: "Rule",
            key: Self.key,
            expiresAt: 1_900_000_000
        )
        #expect(
            header == "SharedAccessSignature sr=\(Self.vectors[0].0)&sig=\(Self.encoded(Self.vectors[0].1))"
                + "&se=1900000000&skn=Rule"
        )
    }

    @Test func `a literal plus in the signature stays a plus, and slashes may be unescaped`() throws {
        for expiry in Int64(1_900_000_000)..<1_900_000_200 {
            let header = SharedAccessToken.sign(resource: "sb://a/", keyName: "R", key: "k", expiresAt: expiry)
            guard header.contains("%2B"), header.contains("%2F") else { continue }
            let raw = header.split(separator: "&").map {
                $0.hasPrefix("sig=") ? PercentEncoding.decode($0) ?? "" : String($0)
            }
            #expect(try SharedAccessToken(parsing: raw.joined(separator: "&")).isSigned(with: "k"))
            return
        }
        Issue.record("no signature with '+' and '/' came up")
    }

    @Test func `the signature covers the resource as it was spelled`() throws {
        let signature = Self.encoded(Self.vectors[1].1)
        let respelled = Self.vectors[1].0.lowercased()
        let token = try SharedAccessToken(
            parsing: "SharedAccessSignature sr=\(respelled)&sig=\(signature)&se=1900000000&skn=R"
        )
        #expect(!token.isSigned(with: Self.key))
    }

    @Test(arguments: [
        ("sharedaccesssignature  sr=a&sig=b&se=1&skn=c", true),
        ("  SharedAccessSignature\tsr=a&sig=b&se=1&skn=c ", true),
        ("SharedAccessSignature SR=a&Sig=b&se=1&skn=c&extra=1", true),
        ("SharedAccessSignature sr=a&sig=b=&se=1&skn=c", true),
    ])
    func `tokens are read leniently where clients differ`(header: String, isRead: Bool) throws {
        #expect(try SharedAccessToken(parsing: header).rawResource == "a")
    }

    @Test(arguments: [
        ("", 40102), ("   ", 40102), ("Bearer abc", 40102), ("Basic YTpi", 40102), ("SharedAccessSignature", 40105),
        ("SharedAccessSignature sr=a&sig=b&se=1", 40105), ("SharedAccessSignature sr=a&sig=b&skn=c", 40105),
        ("SharedAccessSignature sig=b&se=1&skn=c", 40105), ("SharedAccessSignature sr=a&se=1&skn=c", 40105),
        ("SharedAccessSignature sr=&sig=b&se=1&skn=c", 40105),
        ("SharedAccessSignature sr=a&sr=b&sig=b&se=1&skn=c", 40105),
        ("SharedAccessSignature sr=a&sig=b&se=1.5&skn=c", 40105),
        ("SharedAccessSignature sr=a&sig=b&se=-1&skn=c", 40105),
        ("SharedAccessSignature sr=a&sig=b&se=99999999999999999999&skn=c", 40105),
        ("SharedAccessSignature sr=a&sig=%2&se=1&skn=c", 40105),
        ("SharedAccessSignature sr=a&sig=b&se=1&skn=%FF", 40105),
        ("SharedAccessSignature sr=\(String(repeating: "a", count: 9_000))&sig=b&se=1&skn=c", 40105),
    ])
    func `a header that is not a token is refused by its kind`(header: String, code: Int) {
        #expect { try SharedAccessToken(parsing: header) } throws: { error in
            (error as? ProtocolError)?.code == code && (error as? ProtocolError)?.status == 401
        }
    }

    @Test func `expiry allows for a small difference of clocks`() throws {
        let token = try SharedAccessToken(parsing: "SharedAccessSignature sr=a&sig=b&se=1000&skn=c")
        #expect(!token.isExpired(at: 1_000))
        #expect(!token.isExpired(at: 1_060))
        #expect(token.isExpired(at: 1_061))
        let last = try SharedAccessToken(parsing: "SharedAccessSignature sr=a&sig=b&se=\(Int64.max)&skn=c")
        #expect(!last.isExpired(at: .max))
    }

    @Test(arguments: [
        ("https%3a%2f%2fh%2f", "/hub1/messages", true), ("https%3a%2f%2fh", "/hub1/messages", true),
        ("sb%3a%2f%2fh%2f", "/", true), ("http%3a%2f%2fh%3a8443%2fHub1%2f", "/hub1/messages?x=1", true),
        ("https%3a%2f%2fh%2fhub1", "/HUB1", true), ("https%3a%2f%2fh%2fhub1", "/hub1/", true),
        ("https%3a%2f%2fh%2fhub1", "/hub10/messages", false), ("https%3a%2f%2fh%2fhub1", "/hub", false),
        ("https%3a%2f%2fh%2fhub1%2fmessages%3fapi-version%3d1", "/hub1/messages/", true),
        ("https%3a%2f%2fh%2fhub1%2fmessages", "/hub1/installations/a", false),
        ("https%253a%252f%252fh%252fhub1", "/hub1/messages", true),
        ("https://h/hub1", "/hub1/x", true), ("hub1", "/hub1", false), ("%2fhub1", "/hub1", false),
        ("https%3a%2f%2f%2fhub1", "/hub1", false), ("https%3a%2f%2fh%2fhub1", "/hub1/../hub2", false),
        ("https%3a%2f%2fh%2fhub1", "/hub1/%2e%2e/hub2", false), ("https%3a%2f%2fh%2f..%2fhub2", "/hub2", false),
        (
            "https%3a%2f%2fh%2fhub1%2ftags%2f%2524InstallationId%253A%257Ba%257D",
            "/hub1/tags/%24InstallationId%3A%7Ba%7D/registrations", true
        ),
        ("https%3a%2f%2fh%2fhub1%252fmessages", "/hub1/messages", false),
        ("https%3a%2f%2fh%2f%CC%81hub1", "/hub2", false),
        ("https%3a%2f%2fh%2f%2fhub1", "/hub1/messages", true), ("%FF", "/hub1", false),
    ])
    func `a token covers what stands below its resource`(resource: String, path: String, expected: Bool) throws {
        let token = try SharedAccessToken(parsing: "SharedAccessSignature sr=\(resource)&sig=b&se=1&skn=c")
        #expect(token.covers(path: path) == expected, "\(resource) over \(path)")
    }

    @Test(
        arguments: [
            (expiry: 1_000, now: 0, end: 1_000), (1_000, 999, 1_000), (1_000, 1_000, 1_060), (1_000, 1_060, 1_060),
            (Int64.max, 0, .max), (.max, .max, .max),
        ] as [(expiry: Int64, now: Int64, end: Int64)]
    )
    func `what a token has opened ends at its expiry, or when it would be refused`(
        expiry: Int64,
        now: Int64,
        end: Int64
    ) throws {
        let text = SharedAccessToken.sign(resource: "http://h/news", keyName: "r", key: "k", expiresAt: expiry)
        #expect(try SharedAccessToken(parsing: text).validUntil(at: now) == end)
    }
}
