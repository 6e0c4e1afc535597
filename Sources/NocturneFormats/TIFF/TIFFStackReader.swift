internal import CPhoto
internal import CTIFF
public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Reads TIFFs whose pages are the slices of a volume, as nnU-Net's `Tiff3DIO`: integers of 8 to 64 bits and floating point
/// numbers of 32 and 64 bits, one sample a pixel, in strips or tiles, in both byte orders, with offsets of 4 or 8 bytes,
/// compressed or not.
///
/// All pages have one size and type. Numbers are taken as stored: orientation, palette and the direction of grey are not
/// applied. A file is refused that cannot hold what its headers state; memory is allocated only after that.
public enum TIFFStackReader {
    /// The first bytes: both byte orders, the classic form and the form with offsets of eight bytes.
    static let heads: [[UInt8]] = [
        [0x49, 0x49, 42, 0], [0x4D, 0x4D, 0, 42], [0x49, 0x49, 43, 0], [0x4D, 0x4D, 0, 43],
    ]

    /// The most that the library allocates at once.
    private static let libraryBytes = 1 << 30

    /// The memory for a page and what is read of it besides the voxels, in bytes.
    public static func workingBytes(_ shape: VolumeShape) -> Int { max(16 << 20, 24 * shape.sliceCount) }

    /// Reads the first page's header, and counts the pages.
    /// - Throws: ``TIFFStackError``, naming the file and the fact.
    public static func readHeader(at path: String) throws(TIFFStackError) -> Header {
        try OpenStack(path).header
    }

    /// Reads the voxels as float32.
    /// - Throws: ``TIFFStackError``; `CancelledError` soon after the scope's flag is raised.
    /// - Complexity: one pass on the calling thread; 4 bytes per voxel and ``workingBytes(_:)``.
    public static func readVolume(at path: String, scope: ComputeScope) throws -> (
        header: Header, voxels: FrozenVoxels<Float>, nonFiniteCount: Int
    ) {
        let stack = try OpenStack(path)
        let shape = stack.header.shape
        let convert = VoxelConversion.toFloats(native: stack.header.type)
        var voxels: VoxelBuffer<Float> = try buffer(shape.count, path)
        var page: VoxelBuffer<UInt8> = try buffer(shape.sliceCount * stack.header.type.bytesPerVoxel, path)
        var nonFinite = 0
        try voxels.withUnsafeMutableBufferPointer { target in
            guard let base = target.baseAddress else { return }
            // In order and on one thread: the library reads directories one after the other.
            for k in 0..<shape.z {
                try scope.check()
                try page.withUnsafeMutableBufferPointer { samples in
                    guard let start = samples.baseAddress else { return }
                    try stack.readPage(k, into: UnsafeMutableRawPointer(start), scope.flag)
                    nonFinite += convert(UnsafeRawPointer(start), shape.sliceCount, base + k * shape.sliceCount)
                }
            }
        }
        return (stack.header, voxels.frozen(), nonFinite)
    }

    private static func buffer<Element: BitwiseCopyable & Sendable>(
        _ count: Int,
        _ path: String
    ) throws(TIFFStackError) -> VoxelBuffer<Element> {
        do {
            return try VoxelBuffer<Element>(count: count)
        } catch {
            throw TIFFStackError(.outOfMemory, path: path, error.description)
        }
    }

    /// An open file whose header has been checked.
    private final class OpenStack {
        let header: Header
        private let path: String
        private let decoder: OpaquePointer?

        init(_ path: String) throws(TIFFStackError) {
            self.path = path
            try TIFFStackReader.checkKind(path)
            var decoder: OpaquePointer?
            var facts = ctiff_stack_facts()
            let code = ctiff_stack_open(path, libraryBytes, &decoder, &facts)
            do throws(TIFFStackError) {
                let (message, system) = (String(cString: ctiff_message(decoder)), ctiff_system_code(decoder))
                try TIFFStackError.check(code, path: path, message: message, systemCode: system)
                header = try Self.header(facts, description: String(cString: ctiff_stack_description(decoder)), path)
            } catch {
                ctiff_close(decoder)
                throw error
            }
            self.decoder = decoder
        }

        deinit { ctiff_close(decoder) }

        private static func header(
            _ facts: ctiff_stack_facts,
            description: String,
            _ path: String
        ) throws(TIFFStackError) -> Header {
            let (width, height, pages) = (Int(facts.width), Int(facts.height), Int(facts.page_count))
            guard let shape = VolumeShape(validating: width, y: height, z: pages),
                let type = Header.type(bits: Int(facts.bits), kind: Int(facts.kind))
            else {
                throw TIFFStackError(.corrupt, path: path, "\(pages) pages of \(width)×\(height) samples are too many")
            }
            if let problem = Description(description)?.problem(pages: pages) {
                throw TIFFStackError(.notThreeDimensional, path: path, problem)
            }
            guard pages > 1 else {
                throw TIFFStackError(.notThreeDimensional, path: path, "a single page is not a volume")
            }
            return Header(shape: shape, type: type)
        }

        /// Pages are read in order.
        func readPage(_ index: Int, into samples: UnsafeMutableRawPointer, _ flag: CancellationFlag) throws {
            let code = withExtendedLifetime(flag) {
                ctiff_stack_page(decoder, photoStop, photoStopContext(flag), samples)
            }
            if code == CPHOTO_STOPPED { throw CancelledError() }
            try TIFFStackError.check(
                code,
                path: path,
                place: "page \(index + 1) of \(header.shape.z): ",
                message: String(cString: ctiff_message(decoder)),
                systemCode: ctiff_system_code(decoder)
            )
        }
    }

    /// Nothing but a regular file that begins like a TIFF is given to the library.
    private static func checkKind(_ path: String) throws(TIFFStackError) {
        let head: [UInt8]
        do throws(FileSystemError) {
            head = try FileDescriptor(reading: path, points: .inputHead).read(count: 8, at: 0)
        } catch {
            throw TIFFStackError(.unreadable, reading: error)
        }
        guard heads.contains(where: head.starts(with:)) else {
            throw TIFFStackError(.notTIFF, path: path, head.isEmpty ? "is empty" : "is not a TIFF, whatever its name")
        }
    }
}
