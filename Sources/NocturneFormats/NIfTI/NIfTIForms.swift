public import NocturneCore

/// The forms of the image from which a file is made.
public struct NIfTIForms: Hashable, Sendable {
    public var qformCode: Int
    public var sformCode: Int
    /// The q-form of the image. It is kept where the grid is sheared, which no q-form can represent: ITK reads such an
    /// image by its q-form, and then finds the new file in the same place.
    public var qform: Affine?

    public init(qformCode: Int, sformCode: Int, qform: Affine? = nil) {
        self.qformCode = qformCode
        self.sformCode = sformCode
        self.qform = qform
    }

    public init(of header: NIfTIHeader) {
        self.init(qformCode: header.qformCode, sformCode: header.sformCode, qform: header.qform)
    }

    /// Both in scanner coordinates.
    static let scanner = NIfTIForms(qformCode: 1, sformCode: 1)
}
