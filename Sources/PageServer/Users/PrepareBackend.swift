import AppBackend
import Hummingbird
import MountedBackend

/// Has the app backend's database opened before a page asks for it.
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
