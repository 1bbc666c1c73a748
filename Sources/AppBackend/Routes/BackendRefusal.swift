import Formats
package import HTTPTypes
package import HubProtocol
package import Hummingbird

/// A refusal for the app backend's clients: a status, and one sentence in `{"error":"…"}`.
package struct BackendRefusal: HTTPResponseError, Equatable, CustomStringConvertible {
    package let status: HTTPResponse.Status
    /// One sentence, without credentials, payloads or push handles.
    package let reason: String
    package let headers: HTTPFields
    /// The failure of the hub that caused the refusal, for the log only.
    let cause: HubError?

    package init(
        _ status: HTTPResponse.Status,
        _ reason: String,
        headers: HTTPFields = [:],
        cause: HubError? = nil
    ) {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.cause = cause
    }

    func caused(by error: HubError?) -> BackendRefusal {
        BackendRefusal(status, reason, headers: headers, cause: error)
    }

    package var description: String { reason }

    /// True if the same request may succeed later, as when the hub cannot be reached.
    package var isTemporary: Bool { status == .serviceUnavailable }

    package func response(from request: Request, context: some RequestContext) throws -> Response {
        response(to: request)
    }

    package func response(to request: Request) -> Response {
        var response = Response.json(["error": JSONText(reason)], status: status)
        response.headers.append(contentsOf: headers)
        // After a HEAD request, a body would be read as the next reply (RFC 9110 §9.3.2).
        return request.method == .head ? response.createHeadResponse() : response
    }
}

extension BackendRefusal {
    package static func badRequest(_ reason: String) -> BackendRefusal { BackendRefusal(.badRequest, reason) }

    package static func forbidden(_ reason: String) -> BackendRefusal { BackendRefusal(.forbidden, reason) }

    package static func notFound(_ reason: String) -> BackendRefusal { BackendRefusal(.notFound, reason) }

    package static func gone(_ reason: String) -> BackendRefusal { BackendRefusal(.gone, reason) }

    package static func conflict(_ reason: String) -> BackendRefusal { BackendRefusal(.conflict, reason) }

    package static func tooLarge(_ reason: String) -> BackendRefusal { BackendRefusal(.contentTooLarge, reason) }

    /// A refusal that names both ways to sign in; `isToken` is true if the request has an invalid token.
    ///
    /// Source: RFC 7617 §2.1 (`charset`), RFC 6750 §3.
    package static func unauthorized(_ reason: String, isToken: Bool = false) -> BackendRefusal {
        var headers: HTTPFields = [.wwwAuthenticate: #"Basic realm="newswire", charset="UTF-8""#]
        let bearer = #"Bearer realm="newswire""# + (isToken ? #", error="invalid_token""# : "")
        headers.append(HTTPField(name: .wwwAuthenticate, value: bearer))
        return BackendRefusal(.unauthorized, reason, headers: headers)
    }

    package static func tooManyRequests(_ reason: String, retryAfter: Duration) -> BackendRefusal {
        BackendRefusal(.tooManyRequests, reason, headers: [.retryAfter: "\(retryAfter.secondsToWait)"])
    }

    package static func unavailable(_ reason: String, retryAfter: Duration) -> BackendRefusal {
        BackendRefusal(.serviceUnavailable, reason, headers: [.retryAfter: "\(retryAfter.secondsToWait)"])
    }
}
