import HubProtocol
import HubRouting
import StreamProbe
import Testing

@testable import HubServer

struct RequestTurnsTests {
    @Test func `one works at a time, the others wait in the order in which they came`() async throws {
        let turns = RequestTurns("inquiries")
        let (gate, open) = AsyncStream<Void>.makeStream()
        let (entered, enter) = AsyncStream<Void>.makeStream()
        let order = Kept<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await turns.pass {
                    enter.yield()
                    for await _ in gate { break }
                }
            }
            for await _ in entered { break }
            for number in 0..<RequestTurns.maximumWaiting {
                group.addImmediateTask {
                    try await turns.pass { order.change { $0.append(number) } }
                }
                #expect(turns.waitingCount == number + 1)
            }
            let error = await #expect(throws: ProtocolError.self) { try await turns.pass {} }
            #expect(error?.status == 429)
            open.yield()
            try await group.waitForAll()
        }
        #expect(order.value == Array(0..<RequestTurns.maximumWaiting))
        try await turns.pass {}
    }

    @Test func `a failure is one's own, and nobody waits behind it`() async throws {
        let turns = RequestTurns("inquiries")
        await #expect(throws: ProtocolError.self) { try await turns.pass { throw ProtocolError.noRegistration } }
        #expect(try await turns.pass { 7 } == 7)
    }
}
