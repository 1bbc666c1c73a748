import AppBackend
import Formats
import HTTPTypes
import HubProtocol
import Hummingbird
import WebEdge
import WebPages

/// The texts of secure messages, which only their addressee can read.
enum SecureMessageRoutes {
    static let routes = [
        PageRoute(.get, "/secure/:id") { try await show($0) }
    ]

    /// Reads the id of a secure message; `nil` for text that cannot be one.
    static func id(_ text: String?) -> Int64? { text.flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil } }

    /// Answers with a page, or with JSON for the script.
    private static func show(_ request: PageRequest) async throws -> Response {
        let isScript = request.request.headers[.accept] == "application/json"
        // Text that is not a number counts as 0, as in the app backend, and goes through the same steps.
        let id = id(request.context.parameters.get("id")) ?? 0
        guard let user = try await request.signedIn() else {
            if isScript { return ReaderRoutes.status(.unauthorized) }
            var page = SignInPage(frame: SignInRoutes.frame(request, try await request.visitor))
            page.secure = "\(id)"
            return request.page(page, status: .unauthorized)
        }
        guard await request.context.client.isPrivate else {
            throw request.refusal(.forbidden, .secureNeedsHTTPS)
        }
        let text = try await user.backend.securePayload(
            id,
            of: user.caller.name,
            request.context.client,
            isRead: request.request.method == .get
        )
        guard let text else {
            if isScript { return ReaderRoutes.status(.notFound) }
            throw PageRefusal(.notFound, request.frame(for: user.visitor), .messageUnknown)
        }
        guard isScript else { return request.page(SecurePage(frame: request.frame(for: user.visitor), text: text)) }
        return PageHeaders.json(["text": JSONText(text)])
    }
}
