import Foundation
import HubProtocol
import Hummingbird

/// The state of a hub's credentials for push services, and its key for browsers: extensions that Azure does not have.
enum CredentialRoutes {
    static let routes = [
        Route(method: .get, path: "/credentials", right: .manage) { request in
            let report = try await request.operations.credentials(asking: false)
            return try .json(encoding: report)
        },
        Route(method: .post, path: "/credentials/test", right: .manage, staysHere: true) { request in
            let report = try await request.operations.credentials(asking: true)
            return try .json(encoding: report)
        },
        Route(method: .get, path: "/browser-key", right: .listen, isForWebApps: true) { request in
            try .json(encoding: try request.operations.browserKey())
        },
        Route(method: .post, path: "/browser-key", right: .manage) { request in
            try await request.operations.rotateBrowserKey()
            return try .json(encoding: try request.operations.browserKey())
        },
    ]
}
