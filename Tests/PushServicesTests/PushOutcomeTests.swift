import PushServices
import Testing

@Suite struct PushOutcomeTests {
    @Test func aDeadHandleIsCertainUnlessSaidOtherwise() {
        #expect(DeadHandle(reason: "Unregistered").isCertain)
    }
}
