"""Library code in the language of kernels itself: its functions are inlined into kernels as a user's are.

copy        `copy`, by an atom or without         multicast     tiles by TMA, for one block or several
pipelines   rings of buffers and their barriers   participants  one side of a ring, with its state
scheduler   which tile is next; `stream_k`        grouped       the same for groups known to the device; `tensormaps`
tile_queue  tiles that blocks take in turn        umma  tmem    rings and tensor memory of Blackwell
epilogue    results on their way to memory        piece  chunk  what functions get that finish or make operands
reduce      sums and scans of a block             scan          scans over blocks
rows        rows dealt out to threads             row_words     their vectors as f32, and as words
row_tile    parts of rows of any length           row_stream    rows one after the other; `row_copies` brings later ones
row_counter which team has which row              softmax       softmax of rows that come in blocks
narrow      narrow weights made bf16              packed        numbers of 4, 6 and 8 bits in words
tensors     gathered, scattered, printed          derivative    of functions that kernels are given
divmod      division by a number that stays       extern        functions that are not written in Python
warp_sums   sums by products of matrices          row_ends      parts of vectors, and vectors that begin anywhere
                                                  row_wrapped   parts of rows whose ends are one vector
                                                  row_planes    numbers of rows in shared memory, by columns

Ordinary Python over `cutelite.lang`: what they do, a user's own function could do as well.
"""
