import Glibc
import NocturneFuzz

/// libFuzzer's loop, from the part of the library without `main`.
@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The target of this process: the first argument. The others are libFuzzer's.
nonisolated(unsafe) var target = FuzzTarget.words

let arguments = CommandLine.unsafeArgv
guard let chosen = CommandLine.arguments.dropFirst().first.flatMap(FuzzTarget.init) else {
    for target in FuzzTarget.allCases { print(target.rawValue) }
    exit(CommandLine.argc > 1 ? 2 : 0)
}
target = chosen
arguments[1] = arguments[0]
var count = CommandLine.argc - 1
var rest = arguments + 1
exit(
    runDriver(&count, &rest) { bytes, length in
        target.run(UnsafeRawBufferPointer(start: bytes, count: length)) ? 0 : -1
    }
)
