import Foundation
import GRDB
import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct RegistrationRowsTests {
    private func insert(_ store: HubStore, _ hub: HubKey, _ handles: [String]) async throws -> [StoredRegistration] {
        let registrations = handles.map { Registration(id: .random(), platform: .apns, pushChannel: .handle($0)) }
        return try await store.change { transaction in
            try registrations.map { try transaction.put($0, replacing: nil, hub: hub, at: 1).stored }
        }
    }

    @Test func `the registrations of a handle are read page by page`() async throws {
        let (store, hub) = try await Scratch().store()
        let ordinals = try await insert(store, hub, ["AA", "BB", "aa", "AA", "AA", "AA"]).map(\.ordinal)
        func page(after: Ordinal, isMeant: @Sendable (StoredRegistration) -> Bool) async throws -> [Ordinal] {
            try await store.registrations(hub: hub, handle: "AA", after: after, limit: 2, where: isMeant)
                .found.map(\.ordinal)
        }
        #expect(try await page(after: 0) { _ in true } == [ordinals[0], ordinals[2]])
        #expect(try await page(after: ordinals[2]) { _ in true } == [ordinals[3], ordinals[4]])
        #expect(try await page(after: ordinals[4]) { _ in true } == [ordinals[5]])
        let (hidden, last) = (Set(ordinals[..<4]), ordinals[5])
        #expect(
            try await page(after: 0) { !hidden.contains($0.ordinal) } == [ordinals[4], last],
            "those that do not count fill no page"
        )
    }

    @Test func `a page of one handle looks at a bounded number of rows`() async throws {
        let (store, hub) = try await Scratch().store()
        let ordinals = try await insert(store, hub, Array(repeating: "AA", count: 5)).map(\.ordinal)
        let wanted = ordinals[4]
        func page(after: Ordinal) async throws -> (found: [StoredRegistration], next: Ordinal?) {
            try await store.registrations(hub: hub, handle: "AA", after: after, limit: 9, maximumRows: 2) {
                $0.ordinal == wanted
            }
        }
        let first = try await page(after: 0)
        #expect(first.found.isEmpty && first.next == ordinals[1], "none of two rows was meant")
        let last = try await page(after: ordinals[3])
        #expect(last.found.map(\.ordinal) == [wanted] && last.next == nil)
    }
}
