import Formats
import HTTPTypes
import HubProtocol
package import Hummingbird
package import WebEdge

/// A request of a route, with the objects that the route uses.
package struct BackendRequest: Sendable {
    package let backend: AppBackend
    package let request: Request
    package let context: WebContext<Caller>

    /// The client's network.
    var network: ClientNetwork { context.client.network }

    /// - Throws: 401 on a route without a signed-in user.
    var caller: Caller { get throws(BackendRefusal) { try context.signedIn() } }

    /// The query by names in lower case; a parameter without `=` has an empty value.
    ///
    /// A `+` is kept: push handles contain it, and the tutorials' clients do not escape it.
    ///
    /// - Throws: 400 for a duplicate name, since two readers could use different values.
    var query: [String: String] {
        get throws(BackendRefusal) {
            var values: [String: String] = [:]
            for (name, value) in FormFields(request.uri.query).escaped {
                let name = (PercentEncoding.decode(name) ?? String(name)).lowercased()
                guard let value = PercentEncoding.decode(value) else {
                    throw .badRequest("The value of '\(name.excerpt)' in the query is not valid percent-encoding.")
                }
                guard values.updateValue(value, forKey: name) == nil else {
                    throw .badRequest("The query has '\(name.excerpt)' twice.")
                }
            }
            return values
        }
    }

    /// True if the client asks for JSON by name; `*/*` does not count.
    var asksForJSON: Bool {
        (request.headers[.accept] ?? "").split(separator: ",").contains { range in
            range.prefix { $0 != ";" }.trimmingBlanks().lowercased() == "application/json"
        }
    }
}

extension Response {
    /// The only success that the tutorials' clients accept: a status without a body.
    static let empty = Response(status: .ok)

    /// A body of exactly this text: clients strip its first and last characters.
    static func json(_ body: JSONText, status: HTTPResponse.Status = .ok) -> Response {
        Response(body.text, jsonType, status: status, cache: "no-store")
    }
}
