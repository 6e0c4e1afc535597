import Foundation
import NocturneSystem
import Testing

@Suite("Which process it is")
struct ProcessIdentityTests {
    private let own = ProcessIdentity.current()

    @Test("This process is itself, and can be signalled")
    func itself() {
        #expect(own.process == getpid() && own.isRunningHere)
        #expect(own.startTicks != nil && own.bootID?.isEmpty == false && own.pidNamespace?.isEmpty == false)
        #expect(own.send(0))
    }

    @Test("The same number of another start, boot or namespace, or of an unknown one, is another process")
    func others() {
        func changed(
            process: Int32? = nil,
            startTicks: UInt64?,
            bootID: String?,
            pidNamespace: String?
        ) -> ProcessIdentity {
            ProcessIdentity(
                process: process ?? own.process,
                startTicks: startTicks,
                bootID: bootID,
                pidNamespace: pidNamespace,
                host: own.host
            )
        }
        let (ticks, boot, namespace) = (own.startTicks, own.bootID, own.pidNamespace)
        for other in [
            changed(startTicks: ticks.map { $0 + 1 }, bootID: boot, pidNamespace: namespace),
            changed(startTicks: ticks, bootID: "another", pidNamespace: namespace),
            changed(startTicks: ticks, bootID: boot, pidNamespace: "pid:[1]"),
            changed(startTicks: nil, bootID: boot, pidNamespace: namespace),
            changed(startTicks: ticks, bootID: nil, pidNamespace: namespace),
            changed(startTicks: ticks, bootID: boot, pidNamespace: nil),
            changed(process: -1, startTicks: ticks, bootID: boot, pidNamespace: namespace),
            changed(process: 1, startTicks: ticks, bootID: boot, pidNamespace: namespace),
        ] {
            #expect(!other.isRunningHere && !other.send(0), "\(other)")
        }
        // The name of the machine is for people.
        let renamed = ProcessIdentity(
            process: own.process,
            startTicks: ticks,
            bootID: boot,
            pidNamespace: namespace,
            host: "elsewhere"
        )
        #expect(renamed.isRunningHere)
    }

    @Test("A program's name may hold what separates fields")
    func stat() {
        let fields = (3...52).map { "\($0)" }.joined(separator: " ")
        #expect(ProcessIdentity.startTicks(inStat: "12 (a b) c)) \(fields)\n") == 22)
        let ended = "12 (a) Z " + (4...52).map { "\($0)" }.joined(separator: " ")
        #expect(ProcessIdentity.startTicks(inStat: ended) == nil)
        #expect(ProcessIdentity.startTicks(inStat: "12 (short) S 1") == nil)
        #expect(ProcessIdentity.startTicks(inStat: "") == nil)
    }
}
