import NIOCore
import OutboundHTTP
import Signals
import Synchronization
import WebPages

/// A picture of a story.
struct NewsImage: Sendable {
    let kind: ImageHeader.Kind
    let body: ByteBuffer
}

/// The pictures of news, which the hub fetches: readers' browsers never ask a publisher's server.
///
/// Each is fetched once, from public addresses only, and kept in memory as it is. An address without a usable picture is
/// not asked again for a while.
final class NewsImages: Sendable {
    /// The largest file, in bytes.
    static let maximumBytes = 512_000
    /// The largest number of pixels: browsers decode pictures to four bytes for each.
    static let maximumPixels = 10_000_000
    /// The memory for all pictures and their addresses, in bytes.
    private static let maximumKept = 33_554_432
    /// The largest number of addresses that are remembered, with and without a picture.
    private static let maximumAddresses = 1_000
    /// The largest number of pictures that are fetched at the same time; others are not shown at this visit.
    private static let maximumFetches = 8
    /// The time for one picture, and the time for which an address without one is remembered.
    private static let patience = Duration.seconds(10)
    private static let failureLifetime = Duration.seconds(600)

    private struct Entry {
        /// `nil` for an address without a usable picture.
        let image: NewsImage?
        let at: Duration
    }

    private struct State {
        var entries = BoundedTable<String, Entry>(maximumCount: maximumAddresses, maximumBytes: maximumKept)
        var fetches = 0
    }

    private let http: OutboundClient
    private let addresses: AddressPolicy
    /// A clock that is never set.
    private let time: @Sendable () -> Duration
    private let state = Mutex(State())
    private let flights = SingleFlight<String, NewsImage?>()

    /// - Parameters:
    ///   - http: The client, which its owner ends.
    ///   - addresses: The addresses that pictures may come from.
    ///   - time: A clock that is never set, from any start.
    init(_ http: OutboundClient, addresses: AddressPolicy, time: @escaping @Sendable () -> Duration) {
        self.http = http
        self.addresses = addresses
        self.time = time
    }

    /// The picture at an address; `nil` if there is no usable one, or none can be fetched now.
    ///
    /// A client that goes away does not end the fetch.
    func image(at address: String) async -> NewsImage? {
        let known = state.withLock { state -> Entry? in
            guard let entry = state.entries[address], entry.image != nil || time() - entry.at < Self.failureLifetime
            else { return nil }
            state.entries.use(address)
            return entry
        }
        if let known { return known.image }
        return (try? await flights.value(address) { await self.fetch(address) }) ?? nil
    }

    private func fetch(_ address: String) async -> NewsImage? {
        let hasRoom = state.withLock { state in
            guard state.fetches < Self.maximumFetches else { return false }
            state.fetches += 1
            return true
        }
        guard hasRoom else { return nil }
        let request = OutboundRequest(
            url: address,
            headers: [(name: "Accept", value: "image/webp, image/jpeg, image/png")],
            connectTimeout: Self.patience,
            totalTimeout: Self.patience,
            idleTimeout: Self.patience,
            maximumBodyBytes: Self.maximumBytes,
            maximumRedirects: 3,
            addresses: addresses
        )
        let response = try? await http.send(request)
        var image: NewsImage?
        if let response, response.status == 200, let header = ImageHeader(response.body),
            header.pixels <= Self.maximumPixels
        {
            image = NewsImage(kind: header.kind, body: ByteBuffer(bytes: response.body))
        }
        let entry = Entry(image: image, at: time())
        state.withLock { state in
            state.fetches -= 1
            // An address is kept without its picture, too.
            let bytes = address.utf8.count + (entry.image?.body.readableBytes ?? 0)
            state.entries.keep(entry, bytes: bytes, for: address)
        }
        return image
    }
}
