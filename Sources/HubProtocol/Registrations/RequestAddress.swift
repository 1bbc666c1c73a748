/// The address of a request as its client wrote it, from which replies derive others.
///
/// The service repeats the query of the request in every address of its reply, and clients depend on it (protocol §3.1,
/// §3.3).
package struct RequestAddress: Sendable, Equatable {
    /// `https://host[:port]`, as the client sees the server.
    package let origin: String
    /// Beginning with `/`, with its escapes.
    package let path: String
    /// Without the question mark, with its escapes; empty for none.
    package let query: String

    package init(origin: String, path: String, query: String) {
        self.origin = origin
        self.path = path
        self.query = query
    }

    package var url: String { origin + path + suffix(query) }

    /// The address of one item of the requested collection.
    package func item(_ id: RegistrationID) -> String { item(id.text) }

    package func item(_ id: String) -> String {
        origin + path + (path.utf8.last == UInt8(ascii: "/") ? "" : "/") + id + suffix(query)
    }

    /// The address of another page of the same list.
    package func page(_ token: ContinuationToken) -> String {
        let kept = query.split(separator: "&").filter { parameter in
            parameter.prefix { $0 != "=" }.lowercased() != Self.continuationToken
        }
        return origin + path + suffix((kept + ["\(Self.continuationToken)=\(token.text)"]).joined(separator: "&"))
    }

    private static let continuationToken = "continuationtoken"

    private func suffix(_ query: String) -> String { query.isEmpty ? "" : "?" + query }
}
