import Foundation
import HostSystem
import HubTestServer
import Synchronization
import Testing

/// A publisher, as it was built, that crashes at documents or is killed while it reads them.
///
/// A library loaded before libxml2 crashes or kills the program when a document holds a certain word.
@Suite struct ReadingTrapTests {
    private static let library = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <signal.h>
        #include <string.h>
        #include <unistd.h>
        typedef int (*reader)(void *, char *, int);
        struct input { reader read; void *context; };
        static int look(void *context, char *buffer, int size) {
            struct input *input = context;
            int count = input->read(input->context, buffer, size);
            if (count > 0 && memmem(buffer, count, "TRAP", 4)) *(volatile int *)8 = 1;
            if (count > 0 && memmem(buffer, count, "KILL", 4)) kill(getpid(), SIGKILL);
            return count;
        }
        void *xmlCtxtReadIO(void *parser, reader read, void *close, void *context, void *url, void *encoding, int options) {
            void *(*real)(void *, reader, void *, void *, void *, void *, int) = dlsym(RTLD_NEXT, "xmlCtxtReadIO");
            struct input input = {read, context};
            return real(parser, look, close, &input, url, encoding, options);
        }
        """

    /// What feeds hold, and what the hub was sent.
    private final class News: Sendable {
        let feeds = Mutex<[String: [String]]>([:])
        let sent = Mutex<[String]>([])

        func feed(_ request: RecordedRequest) -> ScriptedReply {
            let items = feeds.withLock { $0[request.path] ?? [] }.map {
                "<item><guid isPermaLink='false'>\($0)</guid><title>\($0)</title></item>"
            }
            return .status(200, body: "<rss version='2.0'><channel>\(items.joined())</channel></rss>")
        }

        func take(_ request: RecordedRequest) -> ScriptedReply {
            guard request.path == "/news/messages/" else { return .status(200) }
            let message = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: String]
            sent.withLock { $0.append(message?["title"] ?? "") }
            return .status(201, headers: [("Location", "http://127.0.0.1/news/messages/m1?api-version=1")])
        }
    }

    private struct Room {
        let news = News()
        let scratch: ScratchFolder
        let site: ScriptedHTTPServer
        let hub: ScriptedHTTPServer

        init() async throws {
            let news = news
            scratch = try ScratchFolder()
            site = try ScriptedHTTPServer { news.feed($0) }
            hub = try ScriptedHTTPServer { news.take($0) }
            try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
            let feeds = ["/a", "/b", "/c"].map {
                "  - {url: \"\(site.url($0))\", local: true, every: 1s, by-agreement: true}\n"
            }
            .joined()
            try scratch.write("category: World\nfeeds:\n\(feeds)", to: "feeds/world.yaml")
            try await PreloadedLibrary.compile(ReadingTrapTests.library, as: "trap", in: scratch)
        }

        func publish(_ arguments: [String] = [], traps: Bool = true) async throws -> BuiltProgram.Outcome {
            var environment = [
                "XDG_STATE_HOME": scratch.file("state"), "XDG_CONFIG_HOME": scratch.path,
                "NEWSWIRE_CONNECTION_STRING":
                    "Endpoint=\(hub.baseURL)/;SharedAccessKeyName=x;SharedAccessKey=\(String(repeating: "A", count: 43))=",
            ]
            if traps { environment["LD_PRELOAD"] = scratch.file("trap.so") }
            return try await BuiltProgram.run(
                arguments + ["--feeds", scratch.file("feeds")],
                environment: environment
            )
        }

        /// Runs passes until one does this, as a timer would: feeds are due after a second.
        func publish(until isDone: (BuiltProgram.Outcome) -> Bool) async throws -> BuiltProgram.Outcome {
            for _ in 1...200 {
                let outcome = try await publish(["publish"])
                if isDone(outcome) { return outcome }
            }
            throw Limit.reached
        }

        enum Limit: Error { case reached }

        func set(_ a: [String], _ b: [String], _ c: [String]) {
            news.feeds.withLock { $0 = ["/a": a, "/b": b, "/c": c] }
        }

        var sent: [String] { news.sent.withLock { $0.sorted() } }
    }

    @Test(.timeLimit(.minutes(5)))
    func `a document that crashes the publisher costs the other feeds nothing`() async throws {
        let room = try await Room()
        room.set([], [], [])
        #expect(try await room.publish(["publish"]).status == 0)
        room.set(["a1"], ["TRAP", "b1"], ["c1"])
        _ = try await room.publish { $0.status != 0 }
        let next = try await room.publish { $0.status != 0 || !$0.errors.isEmpty }
        #expect(next.status == 0, "\(next.errors)")
        #expect(next.errors.contains("/b' sent a document that crashed this program"), "\(next.errors)")
        #expect(room.sent == ["a1", "c1"])
        let list = try await room.publish(["feeds", "list"], traps: false)
        #expect(list.output.contains("crashed this program"), "\(list.output)")
        room.set(["a2", "a1"], ["b2", "b1"], ["c2", "c1"])
        let repaired = try await room.publish(["publish", "--force", "--cap", "9"])
        #expect(repaired.status == 0, "\(repaired.errors)")
        #expect(room.sent == ["a1", "a2", "b1", "b2", "c1", "c2"])
    }

    @Test(.timeLimit(.minutes(5)))
    func `a publisher killed while it reads goes on with the same document`() async throws {
        let room = try await Room()
        room.set([], [], [])
        #expect(try await room.publish(["publish"]).status == 0)
        room.set(["a1"], ["KILL", "b1"], ["c1"])
        for _ in 1...2 { #expect(try await room.publish(["publish", "--force"]).status != 0) }
        // After the first it was read last, when all else had been sent.
        #expect(room.sent == ["a1", "c1"])
        let next = try await room.publish(["publish", "--force"], traps: false)
        #expect(next.status == 0, "\(next.errors)")
        #expect(next.errors.contains("the last run was ended while it read"), "\(next.errors)")
        #expect(room.sent == ["KILL", "a1", "b1", "c1"])
    }
}
