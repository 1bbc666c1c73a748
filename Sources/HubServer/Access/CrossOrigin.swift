package import HTTPTypes
import HubProtocol
package import Hummingbird
import NetworkAddresses
import Synchronization

/// Web apps of other origins that may use a hub from browsers.
///
/// Browsers add neither cookies nor other credentials: an app sends its token itself. Answers to requests with Manage
/// have none of these fields: such a key does not belong into a browser.
///
/// Source: Fetch Standard, "CORS protocol".
package struct CrossOrigin: Sendable {
    /// Seconds for which browsers may remember the answer to a preflight.
    fileprivate static let maximumAge = "7200"
    private static let exposed = [
        "Content-Location", "Retry-After", HeaderName.trackingID, HeaderName.correlationID, HeaderName.pushChannelMatch,
    ].joined(separator: ", ")
    /// The wildcard does not cover `Authorization`.
    private static let accepted = [
        "Authorization", "Content-Type", HeaderName.lastEventID, HeaderName.pushChannel, HeaderName.trackingID,
        HeaderName.version, "*",
    ].joined(separator: ", ")

    private let origins: Set<String>

    init(_ origins: [WebOrigin]) { self.origins = Set(origins.map(\.description)) }

    /// True if there are such apps.
    var isOn: Bool { !origins.isEmpty }

    /// The fields of an answer to a request from an origin; `nil` for a request that names none, or has Manage.
    func fields(for origin: String?) -> HTTPFields {
        guard isOn else { return [:] }
        guard let origin, origins.contains(origin) else { return [.vary: "Origin"] }
        return [
            .vary: "Origin", .accessControlAllowOrigin: origin, .accessControlExposeHeaders: Self.exposed,
        ]
    }

    /// The same fields as lines of HTTP/1.1.
    func lines(for origin: String?) -> String {
        fields(for: origin).map { "\($0.name): \($0.value)\r\n" }.joined()
    }

    /// The answer to a browser that asks whether it may send a request.
    func preflight(_ request: Request, methods: [HTTPRequest.Method]) -> Response {
        var headers = fields(for: request.headers[.origin])
        headers[.accessControlExposeHeaders] = nil
        if headers[.accessControlAllowOrigin] != nil { headers.allow(methods, Self.accepted) }
        return Response(status: .noContent, headers: headers)
    }

    // MARK: - Public feeds

    /// The fields of a feed that everybody may read, and of its refusals.
    package static let publicFeed: HTTPFields = [
        .accessControlAllowOrigin: "*", .accessControlExposeHeaders: "ETag, Link, Retry-After",
    ]

    /// The answer to a browser that asks whether it may request a public feed.
    package static var publicFeedPreflight: Response {
        var headers: HTTPFields = [.accessControlAllowOrigin: "*"]
        headers.allow([.get, .head], "*")
        return Response(status: .noContent, headers: headers)
    }
}

extension HTTPFields {
    fileprivate mutating func allow(_ methods: [HTTPRequest.Method], _ headers: String) {
        self[.accessControlAllowMethods] = methods.map(\.rawValue).joined(separator: ", ")
        self[.accessControlAllowHeaders] = headers
        self[.accessControlMaxAge] = CrossOrigin.maximumAge
    }
}

/// Notes that a request has Manage, for the middleware that has passed it on.
final class ManageNote: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}

/// Adds the fields of ``CrossOrigin`` to answers and refusals of the routes for web apps.
struct CrossOriginMiddleware: RouterMiddleware {
    private let crossOrigin: CrossOrigin
    /// The methods of the routes for web apps, by address as the router writes it: `/{hub}/browser-key`.
    let methods: [String: [HTTPRequest.Method]]

    init(_ crossOrigin: CrossOrigin, _ routes: [Route]) {
        self.crossOrigin = crossOrigin
        methods = Dictionary(grouping: routes.filter(\.isForWebApps), by: { RouterPath($0.address).description })
            .mapValues { $0.flatMap { route in route.method == .get ? [.get, .head] : [route.method] } }
    }

    func handle(
        _ request: Request,
        context: HubRequestContext,
        next: (Request, HubRequestContext) async throws -> Response
    ) async throws -> Response {
        guard context.endpointPath.flatMap({ methods[$0] })?.contains(request.method) == true else {
            return try await next(request, context)
        }
        let manage = ManageNote()
        var context = context
        context.manage = manage
        var response = try await next(request, context)
        for field in crossOrigin.fields(for: manage.isSet ? nil : request.headers[.origin]) {
            response.headers[field.name] = field.value
        }
        return response
    }
}
