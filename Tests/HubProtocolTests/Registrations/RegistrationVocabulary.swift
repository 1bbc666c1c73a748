import FoundationEssentials

@testable import HubProtocol

/// Bodies as clients send them, and what stands in replies.
enum RegistrationTexts {
    static let id = "4497227228776861650-7267172778370643468-3"
    static let token = "62BCD348AA17"
    static let namespaces =
        #" xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" "#
        + #"xmlns:i="http://www.w3.org/2001/XMLSchema-instance""#

    static func entry(_ description: String) -> String {
        #"<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\#(description)</content></entry>"#
    }

    /// A description as the hub writes it, of what stands behind the head.
    static func description(_ root: String, _ rest: String, head: String? = nil) -> String {
        let head =
            head ?? "<ETag>1</ETag><ExpirationTime>9999-12-31T23:59:59.999Z</ExpirationTime>"
            + "<RegistrationId>\(id)</RegistrationId>"
        return "<\(root)\(namespaces)>\(head)\(rest)</\(root)>"
    }

    static func read(_ body: String) throws -> Registration {
        try Registration(entry: body.bytes, id: RegistrationID(id))
    }

    static func read(_ root: String, _ rest: String) throws -> Registration {
        try read(entry(description(root, rest, head: "")))
    }

    static func problems(_ body: [UInt8]) -> String {
        do {
            _ = try Registration(entry: body, id: .random())
            return ""
        } catch {
            return "\(error.status) \(error.detail)"
        }
    }

    static func problems(_ root: String, _ rest: String) -> String {
        problems(entry(description(root, rest, head: "")).bytes)
    }
}

extension Registration {
    /// As a hub would answer its first write.
    var written: String {
        var stored = self
        stored.etag = 1
        return String(decoding: stored.encodedDescription, as: UTF8.self)
    }
}
