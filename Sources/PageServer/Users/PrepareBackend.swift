import AppBackend
import Hummingbird
import MountedBackend

/// Opens the app backend's database before a page needs it.
struct PrepareBackend: RouterMiddleware {
    let backend: BackendMount

    func handle(
        _ request: Request,
        context: BackendRequestContext,
        next: (Request, BackendRequestContext) async throws -> Response
    ) async throws -> Response {
        await backend.prepare()
        return try await next(request, context)
    }
}
