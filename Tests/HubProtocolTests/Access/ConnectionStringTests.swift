import Testing

@testable import HubProtocol

@Suite struct ConnectionStringTests {
    static let key = "h+3Qd/9kT0YbZ1x7Vn5rLw2mKc8sPqEoJ6uGaFyNiXM="

    @Test(arguments: [
        (
            "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=R;SharedAccessKey=\(key)",
            "sb://ns.servicebus.windows.net/", "https://ns.servicebus.windows.net"
        ),
        (
            "SharedAccessKey=\(key);endpoint=HTTPS://Hub.Example:8443;sharedaccesskeyname=R;",
            "https://hub.example:8443/", "https://hub.example:8443"
        ),
        (" Endpoint = sb://h ;SharedAccessKeyName=R;SharedAccessKey=\(key)\n", "", ""),
        (
            "Endpoint=http://127.0.0.1:8787/;SharedAccessKeyName=R;SharedAccessKey=\(key)\n",
            "http://127.0.0.1:8787/", "http://127.0.0.1:8787"
        ),
        (
            "Endpoint=http://[::1]:8787/;SharedAccessKeyName=R;SharedAccessKey=\(key)",
            "http://[::1]:8787/", "http://[::1]:8787"
        ),
        (
            "Endpoint=http://LOCALHOST;SharedAccessKeyName=R;SharedAccessKey=\(key)",
            "http://localhost/", "http://localhost"
        ),
    ])
    func `the forms in use are read`(text: String, endpoint: String, base: String) throws {
        if endpoint.isEmpty {
            #expect(throws: ConnectionStringError.unknownPart(position: 1)) { try ConnectionString(parsing: text) }
            return
        }
        let connection = try ConnectionString(parsing: text)
        #expect(connection.endpoint == endpoint)
        #expect(connection.keyName == "R")
        #expect(connection.key == Self.key)
        #expect(try connection.baseURL() == base)
        #expect(try ConnectionString(parsing: connection.description) == connection)
    }

    @Test func `the three parts are written as every client reads them`() throws {
        let connection = try ConnectionString(endpoint: "sb://h:1", keyName: "R", key: "secret=")
        #expect(connection.description == "Endpoint=sb://h:1/;SharedAccessKeyName=R;SharedAccessKey=secret=")
    }

    @Test(arguments: [
        ("", ConnectionStringError.missingParts(["Endpoint", "SharedAccessKeyName", "SharedAccessKey"])),
        ("Endpoint=sb://h/;SharedAccessKeyName=R", .missingParts(["SharedAccessKey"])),
        ("Endpoint=sb://h/;SharedAccessKeyName=;SharedAccessKey=k", .missingParts(["SharedAccessKeyName"])),
        ("Endpoint=sb://h/;SharedAccessKeyName=R;SharedAccessKey=k;EntityPath=x", .unknownPart(position: 4)),
        (key, .unknownPart(position: 1)),
        ("Endpoint=sb://h/;Endpoint=sb://h/", .repeatedPart("Endpoint")),
        (
            "Endpoint=sb://h/;SharedAccessKeyName=R;SharedAccessKey=\(String(repeating: "k", count: 257))",
            .partTooLong("SharedAccessKey", limit: 256)
        ),
    ])
    func `a bad string says which part is wrong`(text: String, expected: ConnectionStringError) {
        #expect(throws: expected) { try ConnectionString(parsing: text) }
        #expect(!expected.description.contains(Self.key))
    }

    @Test(arguments: [
        "h", "ftp://h", "sb://", "sb:///", "sb://h/path", "sb://h?x", "sb://u:p@h/", "sb://h:0/", "sb://h:65536/",
        "sb://h:/", "sb://h:1x/", "sb://[::1", "sb://[]/", "sb://[zz]/", "sb://h h/", "sb://h\u{301}/",
        "sb://" + String(repeating: "h", count: 600),
    ])
    func `an endpoint that cannot be one is refused`(endpoint: String) {
        #expect { try ConnectionString(endpoint: endpoint, keyName: "R", key: "k") } throws: { error in
            if case .badEndpoint = error as? ConnectionStringError { true } else { false }
        }
    }

    @Test(arguments: ["10.0.0.1", "127.example.org", "127.0.0.256", "localhost.example.org", "[::2]"])
    func `plain http to another machine needs to be allowed`(host: String) throws {
        let connection = try ConnectionString(endpoint: "http://\(host):80/", keyName: "R", key: "k")
        #expect { try connection.baseURL() } throws: { error in
            if case .plainHTTP = error as? ConnectionStringError { true } else { false }
        }
        #expect(try connection.baseURL(allowingPlainHTTP: true) == "http://\(host):80")
    }
}
