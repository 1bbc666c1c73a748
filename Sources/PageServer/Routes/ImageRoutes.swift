import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// The pictures of news: an address names a message that the reader may see, and never a URL.
enum ImageRoutes {
    static let routes = [
        PageRoute(.get, "/images/:message") { try await image($0) }
    ]

    static func address(of version: StoryVersion, _ home: String) -> String { "\(home)images/\(version.sequence)" }

    private static func image(_ request: PageRequest) async throws -> Response {
        let visitor = try await request.admitted()
        // Each looks its message up in all news in memory.
        guard request.pages.imageRequests.admit(request.context.client.network.description) == nil else {
            return ReaderRoutes.status(.tooManyRequests)
        }
        guard request.showsImages, let images = request.pages.images,
            let number = request.context.parameters.get("message").flatMap({ Int64($0) }),
            // A story that was withdrawn, replaced or is too old has none.
            let address = try await ReaderRoutes.news(for: visitor, request).storyVersions
                .first(where: { $0.sequence.rawValue == number })?.shownImage,
            let image = await images.image(at: address)
        else { return ReaderRoutes.status(.notFound) }
        var headers = PageHeaders.common(image.kind.rawValue)
        headers[.cacheControl] = "private, max-age=3600"
        headers[.contentSecurityPolicy] = "default-src 'none'; sandbox"
        headers[named: "Cross-Origin-Resource-Policy"] = "same-origin"
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: image.body))
    }
}
